#include "bench/conv2d/cudnn_case.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "bench/conv2d/loops.h"
#include "bench/workload/memory.h"
#include "bench/workload/workload.h"
#include "tests/fakes/refusal.h"

namespace dlroof::conv2d {
namespace {

using testing::HasSubstr;

// The names of cuDNN's convolutions and the graphs that they mean.

CudnnConv2dCase Read(const std::string& rest) {
  return ReadCudnnConv2dCase(workload::ParseBenchmarkName("Conv2D/gpu/cudnn/" + rest));
}

std::string CudnnRefusal(const std::string& rest) { return fakes::RefusalOf(Read, rest); }

TEST(ReadCudnnConv2dCase, ChannelsLastAndTheHeuristicAreTheDefaultAndAnEngineHasANumber) {
  const auto plain = Read("fwd/f16/n1c8h8w8k8r3s3");
  EXPECT_EQ(plain.conv.layout, Conv2dLayout::kNhwc);
  EXPECT_EQ(plain.choice, EngineChoice::kHeuristic);
  EXPECT_EQ(plain.conv.types, (workload::ProductTypes{"f16", "f16", "f16"}));
  EXPECT_FALSE(plain.conv.fpmath);
  const auto chosen = Read("fwd/f16/n1c8h8w8k8r3s3/bias/relu/nchw/best");
  EXPECT_EQ(chosen.conv.layout, Conv2dLayout::kNchw);
  EXPECT_EQ(chosen.choice, EngineChoice::kBest);
  EXPECT_TRUE(chosen.conv.bias && chosen.conv.eltwise == workload::Eltwise::kRelu);
  const auto conv = Read("bwd_weights/tf32/n1c8h8w8k8r3s3").conv;
  EXPECT_EQ(conv.types, (workload::ProductTypes{"f32", "f32", "f32"}));
  EXPECT_EQ(conv.type, "tf32");
  EXPECT_EQ(conv.fpmath, "tf32-truncated");
  const auto numbered = Read("bwd_data/f32/n1c8h8w8k8r3s3/nchw/engine62");
  EXPECT_EQ(numbered.choice, EngineChoice::kNumbered);
  EXPECT_EQ(numbered.engine, 62);
  EXPECT_EQ(Read("fwd/f32/n1c8h8w8k8r3s3/engine0").engine, 0);
  // "Conv2D/gpu/cudnn/fwd/f32/n1c8h8w8k8r3s3/" is 40 characters, "engine" 6 more.
  EXPECT_THAT(CudnnRefusal("fwd/f32/n1c8h8w8k8r3s3/engine"), HasSubstr("column 47: "));
  EXPECT_THAT(CudnnRefusal("fwd/f32/n1c8h8w8k8r3s3/engine7x"), HasSubstr("column 48: "));
  EXPECT_THAT(CudnnRefusal("fwd/f32/n1c8h8w8k8r3s3/engine07"), HasSubstr("column "));
  EXPECT_THAT(CudnnRefusal("fwd/f32/n1c8h8w8k8r3s3/engineN"), HasSubstr("column "));
  EXPECT_THAT(CudnnRefusal("fwd/f32/n1c8h8w8k8r3s3/best/engine7"), HasSubstr("column 41: 'best' "));
  EXPECT_THAT(CudnnRefusal("fwd/f32/n1c8h8w8k8r3s3/nhwc"), HasSubstr("has no option 'nhwc'"));
  EXPECT_THAT(CudnnRefusal("bwd_weights/f32/n1c8h8w8k8r3s3/bias"),
              HasSubstr("'bias' can only be fused into fwd"));
  EXPECT_THAT(CudnnRefusal("bwd_data/f32/n1c8h8w8k8r3s3/bias"), HasSubstr("'bias' "));
  EXPECT_THAT(CudnnRefusal("bwd_data/f32/n1c8h8w8k8r3s3/relu"), HasSubstr("'relu' "));
  EXPECT_THAT(CudnnRefusal("fwd/f64/n1c8h8w8k8r3s3"), HasSubstr("expected a type (f32, tf32, f16"));
  EXPECT_THAT(CudnnRefusal("fwd/f32/n1c8h8w8k8r3s3/training"), HasSubstr("no option 'training'"));
  EXPECT_EQ(CudnnRefusal("fwd/s8s8s8/n1c8h8w8k8r3s3"), "accepted");
  EXPECT_EQ(CudnnRefusal("fwd/fp8/n1c16h8w8k16r3s3/best"), "accepted");
}

using Four = std::array<int64_t, 4>;

GraphSpec Spec(const std::string& rest) { return GraphOf(Read(rest)); }

// 112 rows with one row of padding below: (112 + 1 - 3) / 2 + 1 = 56.
TEST(GraphOf, KeepsPaddingThatDiffersAtTheTwoEndsAndHeightComesBeforeWidth) {
  const auto graph = Spec("fwd/f16/n16c64h112w112k32r3s3_s2p0:1x0:1");
  EXPECT_EQ(TensorOf(graph, kSourceId),
            (TensorSpec{1, "f16", {16, 64, 112, 112}, {802816, 1, 7168, 64}, false}));
  EXPECT_EQ(TensorOf(graph, kWeightsId),
            (TensorSpec{2, "f16", {32, 64, 3, 3}, {576, 1, 192, 64}, false}));
  EXPECT_EQ(TensorOf(graph, kDestinationId),
            (TensorSpec{3, "f16", {16, 32, 56, 56}, {100352, 1, 1792, 32}, false}));
  EXPECT_EQ(graph.compute_type, "f32");
  EXPECT_TRUE(graph.pointwise.empty());
  const std::string wide = "n1c8h20w30k6r2s3_s2x1p0:1x2:3d1x2";
  EXPECT_EQ(Spec("bwd_data/f32/" + wide).direction, ProductDirection::kBackwardData);
  EXPECT_EQ(ToText(Spec("bwd_data/f32/" + wide).problem), wide);
}

// Source 2 x 4 x 9 x 7, weights 6 x 4 x 3 x 3, destination 2 x 6 x 7 x 5, bias 6: 504, 216, 420 and
// 6 elements of 2 byte; what stands between convolution and relu is never in memory.
TEST(TensorBytes, CountsWhatIsInMemory) {
  EXPECT_DOUBLE_EQ(TensorBytes(Spec("fwd/f16/n2c4h9w7k6r3s3")), 2 * (504 + 216 + 420));
  EXPECT_DOUBLE_EQ(TensorBytes(Spec("fwd/f16/n2c4h9w7k6r3s3/bias/relu")),
                   2 * (504 + 216 + 420 + 6));
}

TEST(GraphOf, GroupsShowInTheWeightsChannelsAndBiasThenReluFollow) {
  const auto graph = Spec("bwd_weights/bf16/n2c12h8w8k18r3s3_p1g3/nchw");
  EXPECT_EQ(TensorOf(graph, kWeightsId).dimensions, (Four{18, 4, 3, 3}));
  EXPECT_EQ(TensorOf(graph, kWeightsId).strides, (Four{36, 9, 3, 1}));
  EXPECT_EQ(TensorOf(graph, kSourceId).strides, (Four{768, 64, 8, 1}));
  const auto integers = Spec("fwd/s8s8f32/n1c16h8w8k16r1s1");
  EXPECT_EQ(integers.compute_type, "s32");
  EXPECT_EQ(TensorOf(integers, kDestinationId).type, "f32");
  const auto fp8 = Spec("fwd/fp8/n1c16h8w8k32r1s1");
  EXPECT_EQ(fp8.compute_type, "f32");
  EXPECT_EQ(TensorOf(fp8, kSourceId).type, "e4m3");
  EXPECT_EQ(TensorOf(fp8, kDestinationId).type, "e4m3");
  const auto fused = Spec("fwd/s8s8s8/n1c16h8w8k24r1s1/bias/relu");
  EXPECT_EQ(fused.destination, kSumId);
  EXPECT_EQ(TensorOf(fused, kBiasId),
            (TensorSpec{4, "f32", {1, 24, 1, 1}, {24, 1, 24, 24}, false}));
  // The sum as the convolution makes it, what bias makes of it in f32; neither is in memory.
  EXPECT_EQ(TensorOf(fused, kSumId).type, "s32");
  EXPECT_TRUE(TensorOf(fused, kSumId).is_virtual);
  EXPECT_EQ(TensorOf(fused, kBiasedId).type, "f32");
  EXPECT_TRUE(TensorOf(fused, kBiasedId).is_virtual);
  ASSERT_EQ(fused.pointwise.size(), 2U);
  EXPECT_EQ(fused.pointwise[0], (PointwiseSpec{kSumId, kBiasId, kBiasedId}));
  EXPECT_EQ(fused.pointwise[1], (PointwiseSpec{kBiasedId, 0, kDestinationId}));
  const auto bias = Spec("fwd/f16/n1c16h8w8k24r1s1/bias");
  ASSERT_EQ(bias.pointwise.size(), 1U);
  EXPECT_EQ(bias.pointwise[0], (PointwiseSpec{kSumId, kBiasId, kDestinationId}));
  EXPECT_THROW(TensorOf(bias, kBiasedId), std::logic_error);
  const auto relu = Spec("fwd/f16/n1c16h8w8k24r1s1/relu");
  ASSERT_EQ(relu.pointwise.size(), 1U);
  EXPECT_EQ(relu.pointwise[0], (PointwiseSpec{kSumId, 0, kDestinationId}));
  EXPECT_THROW(TensorOf(relu, kBiasId), std::logic_error);
}

// Unequal padding as cuDNN gets it with `padded`: of the 6x7 image 0 rows above, 1 below, 2 columns
// to the left, 3 to the right.
constexpr const char* kUnequal = "n2c3h6w7k4r3s3_p0:1x2:3";

TEST(Padded, CudnnGetsAConvolutionWithoutPaddingOfTheSameResult) {
  const auto plain = Read(fmt::format("fwd/f32/{}", kUnequal));
  const auto padded = Read(fmt::format("fwd/f32/{}/padded/best", kUnequal));
  EXPECT_FALSE(plain.padded);
  EXPECT_TRUE(padded.padded);
  EXPECT_EQ(padded.choice, EngineChoice::kBest);
  EXPECT_EQ(padded.conv, plain.conv);
  const auto graph = GraphOf(padded);
  EXPECT_EQ(TensorOf(graph, kSourceId).dimensions, (std::array<int64_t, 4>{2, 3, 7, 12}));
  EXPECT_EQ(TensorOf(graph, kDestinationId), TensorOf(GraphOf(plain), kDestinationId));
  EXPECT_EQ(ToText(graph.problem), "n2c3h7w12k4r3s3");
  EXPECT_EQ(PlainSource(padded), TensorOf(GraphOf(plain), kSourceId));
  EXPECT_EQ(ToText(GraphOf(plain).problem), kUnequal);
}

TEST(Padded, NeedsPaddingWhoseCopiesAreLaunchesAndNoCompulsoryTraffic) {
  EXPECT_THAT(fakes::RefusalOf<BadInput>(Read, "fwd/f32/n1c8h8w8k8r3s3/padded"),
              HasSubstr("needs a problem with padding"));
  EXPECT_TRUE(Read("fwd/f32/n1c8h8w8k8r3s3_p1/padded").padded);
  const PlanChoice choice{.config = {.engine = 7, .heuristic = "A"}, .tensor_bytes = 1e6};
  for (const auto& [direction, launches] :
       {std::pair("fwd", 3), {"bwd_weights", 3}, {"bwd_data", 2}}) {
    const auto name = fmt::format("{}/f32/{}", direction, kUnequal);
    const auto plain = CallWork(Read(name), choice),
               padded = CallWork(Read(name + "/padded"), choice);
    EXPECT_EQ(plain.launches, 1);
    EXPECT_EQ(padded.launches, launches);
    EXPECT_EQ(padded.bytes, plain.bytes);
    EXPECT_EQ(padded.flops, plain.flops);
  }
  EXPECT_THAT(DescribeCall(Read(fmt::format("bwd_data/f32/{}/padded", kUnequal)), choice),
              testing::EndsWith("; padding by a copy"));
}

// Copies the box as cudaMemcpy3D does, byte by byte.
void CopyBox(const PaddingCopy& box, const std::vector<float>& plain, std::vector<float>& padded) {
  const auto* const from = reinterpret_cast<const char*>(plain.data());
  auto* const to = reinterpret_cast<char*>(padded.data());
  for (int64_t plane = 0; plane < box.planes; ++plane)
    for (int64_t row = 0; row < box.rows; ++row)
      std::copy_n(
          from + (plane * box.rows + row) * box.plain_pitch, box.row_bytes,
          to + (plane * box.padded_rows + box.first_row + row) * box.padded_pitch + box.first_byte);
}

// The padded source of the reference loops is the expectation.
TEST(Padded, TheCopyPutsTheSourceIntoItsPadding) {
  for (const auto* layout : {"", "/nchw"}) {
    const auto request = Read(fmt::format("fwd/f32/{}{}/padded", kUnequal, layout));
    const auto plain = PlainSource(request), padded = TensorOf(GraphOf(request), kSourceId);
    std::vector<float> source(2 * 3 * 6 * 7);
    std::iota(source.begin(), source.end(), 1.0F);
    std::vector<float> expected(2 * 3 * 7 * 12), copied(expected.size());
    ForEachSource(request.conv.problem, [&](int64_t from, int64_t to) {
      expected[static_cast<size_t>(to)] = source[static_cast<size_t>(from)];
    });
    CopyBox(PaddingCopyOf(request), workload::ToStrides(source, plain.dimensions, plain.strides),
            copied);
    EXPECT_EQ(workload::FromStrides(copied, padded.dimensions, padded.strides), expected) << layout;
  }
}

// The choice of cuDNN's plans: what an engine may do for a type, the fastest right plan, its words.

CudnnConv2dCase Request(const std::string& type, const std::string& direction = "fwd") {
  return Read(fmt::format("{}/{}/n1c8h8w8k8r3s3", direction, type));
}

Conv2dCase EngineCase(const std::string& type, const std::string& direction = "fwd") {
  return Request(type, direction).conv;
}

EngineConfig With(const std::vector<Note>& notes) {
  EngineConfig config{.engine = 7, .knobs = {}, .notes = {}, .heuristic = "A"};
  for (const auto note : notes) config.notes.push_back(static_cast<int>(note));
  return config;
}

TEST(ForbiddenReason, F32IsNoTensorCoresTf32IsThoseAloneAndNarrowTypesTakeWhatSumsInF32) {
  const auto conv = EngineCase("f32");
  EXPECT_FALSE(ForbiddenReason(conv, With({})));
  EXPECT_FALSE(ForbiddenReason(conv, With({Note::kWinograd, Note::kWinograd4x4})));
  EXPECT_FALSE(ForbiddenReason(conv, With({Note::kFft, Note::kNondeterministic})));
  EXPECT_TRUE(ForbiddenReason(conv, With({Note::kTensorCore})));
  EXPECT_TRUE(ForbiddenReason(conv, With({Note::kDownConvertInputs})));
  EXPECT_TRUE(ForbiddenReason(EngineCase("f32f32bf16"), With({Note::kTensorCore})));
  EXPECT_FALSE(ForbiddenReason(EngineCase("tf32"), With({Note::kTensorCore})));
  EXPECT_TRUE(ForbiddenReason(EngineCase("tf32"), With({})));
  for (const char* type : {"f16", "bf16", "s8s8s8"}) {
    EXPECT_FALSE(ForbiddenReason(EngineCase(type), With({}))) << type;
    EXPECT_FALSE(ForbiddenReason(EngineCase(type), With({Note::kTensorCore}))) << type;
    EXPECT_TRUE(ForbiddenReason(EngineCase(type),
                                With({Note::kTensorCore, Note::kReducedPrecisionReduction})))
        << type;
  }
}

TEST(ConvPipe, IsWhereTheProductsAreMade) {
  const auto tensor = With({Note::kTensorCore}), plain = With({});
  EXPECT_EQ(ConvPipe(EngineCase("tf32"), tensor), "tf32.matrix");
  EXPECT_EQ(ConvPipe(EngineCase("f16"), tensor), "fp16.matrix");
  EXPECT_EQ(ConvPipe(EngineCase("bf16"), tensor), "bf16.matrix");
  EXPECT_EQ(ConvPipe(EngineCase("bf16bf16f32"), tensor), "bf16.matrix");
  for (const char* type : {"f32", "f16", "bf16"})
    EXPECT_EQ(ConvPipe(EngineCase(type), plain), "fp32.vector") << type;
  EXPECT_EQ(ConvPipe(EngineCase("s8s8s8"), plain), "int8.vector");
  EXPECT_EQ(ConvPipe(EngineCase("s8s8s8"), tensor), "int8.matrix");
  auto tiled = plain;
  tiled.knobs = {{2, 4}};  // tile_size
  EXPECT_EQ(ConvPipe(EngineCase("s8s8s8"), tiled), "int8.matrix");
  EXPECT_EQ(ConvPipe(EngineCase("f16"), tiled), "fp32.vector");
  EXPECT_EQ(ConvPipe(EngineCase("fp8"), {}), "fp8.matrix") << "whatever the engine notes";
  for (const char* type : {"f32", "tf32", "f16", "bf16", "int8", "s8s8f32"})
    for (const auto& config : {With({}), With({Note::kTensorCore})})
      EXPECT_TRUE(IsPipeKey(ConvPipe(EngineCase(type), config))) << type;
}

TEST(CheckedCase, WinogradRoundsItsTransformedInputs) {
  EXPECT_EQ(CheckedCase(EngineCase("f16"), With({Note::kTensorCore})), EngineCase("f16"));
  EXPECT_EQ(CheckedCase(EngineCase("f16"), With({Note::kWinograd6x6})).fpmath, "f16");
  EXPECT_EQ(CheckedCase(EngineCase("bf16"), With({Note::kWinograd})).fpmath, "bf16");
  EXPECT_EQ(CheckedCase(EngineCase("f32"), With({Note::kWinograd})), EngineCase("f32"));
  EXPECT_EQ(CheckedCase(EngineCase("tf32"), With({Note::kTensorCore})).fpmath, "tf32-truncated");
  EXPECT_EQ(WorkspaceLimit(1000), 500);
  EXPECT_EQ(WorkspaceLimit(int64_t{140} << 30U), int64_t{8} << 30U);
}

// Unsupported is a std::runtime_error too, and leaves the exit code alone.
template <class Throws>
bool IsUnsupported(const Throws& throws) {
  try {
    throws();
  } catch (const Unsupported&) {
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
  throw std::logic_error("nothing was thrown");
}

// Plan i takes 1 ms times i + 1; plan 1 breaks at its third look.
TEST(TimePlans, APlanThatBreaksIsDroppedAndNoPlanLeftIsNoResult) {
  std::vector<int> looks(3);
  int checks = 0;
  const auto timed = TimePlans(
      3,
      [&](size_t plan, int calls) {
        EXPECT_EQ(calls, 1);  // a millisecond fills a look
        if (++looks[plan] == 3 && plan == 1) throw std::runtime_error("an engine fell over");
        return 1e-3 * static_cast<double>(plan + 1);
      },
      [&] { ++checks; });
  ASSERT_EQ(timed.size(), 2);
  EXPECT_EQ(timed[0].config, 0);
  EXPECT_EQ(timed[1].config, 2);
  EXPECT_EQ(timed[1].seconds, std::vector<double>(5, 3e-3));
  EXPECT_EQ(looks, (std::vector<int>{7, 3, 7}));
  EXPECT_EQ(checks, 1);
  int most = 0;
  TimePlans(
      1,
      [&](size_t, int calls) {
        most = std::max(most, calls);
        return 5e-5;
      },
      [] {});
  EXPECT_EQ(most, 20);
  const auto breaks = [](size_t, int) -> double {
    throw std::runtime_error("an engine fell over");
  };
  EXPECT_THROW(TimePlans(2, breaks, [] { throw std::logic_error("the GPU is gone"); }),
               std::logic_error);
  const auto nothing_left = [&] { TimePlans(2, breaks, [] {}); };
  EXPECT_FALSE(IsUnsupported(nothing_left));
  EXPECT_THAT(fakes::RefusalOf<std::runtime_error>(nothing_left),
              testing::HasSubstr("an engine fell over"));
  const auto refuses = [](size_t, int) -> double { throw Unsupported("not this shape"); };
  EXPECT_THROW(TimePlans(2, refuses, [] {}), Unsupported);
}

TEST(Fastest, IsTheSmallestMedianOrTheHeuristicsChoiceWithinTheNoise) {
  const auto found = Fastest({{0, {3, 3, 3}}, {5, {1.4, 1.5, 9}}, {6, {2, 2, 2}}});
  EXPECT_EQ(found.config, 5U);
  EXPECT_DOUBLE_EQ(found.heuristic_over_best.value(), 2);  // 3 / 1.5
  // Medians 1.00 and 0.99, and the times overlap.
  const auto near = Fastest({{0, {0.98, 1, 1.02}}, {5, {0.97, 0.99, 1.01}}});
  EXPECT_EQ(near.config, 0U);
  EXPECT_EQ(near.heuristic_over_best, 1);
  // As near, but slowest below fastest.
  const auto clear = Fastest({{0, {1, 1, 1}}, {5, {0.99, 0.99, 0.99}}});
  EXPECT_EQ(clear.config, 5U);
  EXPECT_DOUBLE_EQ(clear.heuristic_over_best.value(), 1 / 0.99);
  EXPECT_THROW(Fastest({}), std::logic_error);
  const auto failed = Fastest({{4, {1, 1, 1}}, {5, {0.995, 0.995, 0.995}}});
  EXPECT_EQ(failed.config, 5U);  // 4 is nobody's choice
  EXPECT_FALSE(failed.heuristic_over_best);
}

TEST(FastestRight, SetsWrongResultsAside) {
  const std::vector<TimedPlan> plans = {{0, {3, 3}}, {1, {1, 1}}, {2, {1.5, 1.5}}};
  const auto without = [&](const std::vector<size_t>& wrong) {
    return FastestRight(plans,
                        [&](size_t config) { return std::ranges::count(wrong, config) == 0; });
  };
  EXPECT_EQ(without({}).plan.config, 1U);
  EXPECT_TRUE(without({}).wrong.empty());
  const auto second = without({1});
  EXPECT_EQ(second.plan.config, 2U);
  EXPECT_DOUBLE_EQ(second.plan.heuristic_over_best.value(), 2);  // 3 / 1.5
  EXPECT_EQ(second.wrong, std::vector<size_t>{1});
  // Only the choice of the heuristic is slower.
  EXPECT_EQ(without({1, 2}).plan.config, 0U);
  EXPECT_EQ(without({1, 2}).wrong, (std::vector<size_t>{1, 2}));
  // The fastest is what will be found wrong.
  EXPECT_EQ(without({0, 1, 2}).plan.config, 1U);
  EXPECT_TRUE(without({0, 1, 2}).wrong.empty());
}

// The plan 3 seemed to take half the time of the heuristic's choice.
FastestPlan ConfirmedWith(double heuristic, double plan, bool heuristic_is_right = true) {
  return Confirmed(
      {3, 2},
      [&](size_t config, int) {
        EXPECT_TRUE(config == 0 || config == 3) << config;
        return config == 0 ? heuristic : plan;
      },
      [] {}, [&] { return heuristic_is_right; });
}

TEST(Confirmed, TakesTheRatioOfTheNewTimesOrTheHeuristicsChoiceIfThatIsRight) {
  EXPECT_EQ(ConfirmedWith(3, 2).config, 3U);
  EXPECT_DOUBLE_EQ(ConfirmedWith(3, 2).heuristic_over_best.value(), 1.5);
  EXPECT_EQ(ConfirmedWith(1, 1).config, 0U);
  EXPECT_EQ(ConfirmedWith(1, 1).heuristic_over_best, 1);
  EXPECT_EQ(ConfirmedWith(1, 1.5, false).config, 3U);
  const auto never = [](size_t, int) -> double { throw std::logic_error("timed"); };
  EXPECT_EQ(Confirmed({0, 1}, never, [] {}, {}).config, 0U);
  EXPECT_EQ(Confirmed({4, std::nullopt}, never, [] {}, {}).config, 4U) << "no two plans to compare";
}

TEST(RunFirstThatWorks, GoesOnAfterAFailureThatPasses) {
  int plan = 0;
  const auto another = [&] { return ++plan < 3; };
  const auto breaks_until = [&](int good) {
    plan = 0;
    return RunFirstThatWorks(
        [&] {
          if (plan < good) throw std::runtime_error("an engine fell over");
        },
        another, [] {});
  };
  EXPECT_EQ(breaks_until(0), 0U);
  EXPECT_EQ(plan, 0);
  EXPECT_EQ(breaks_until(2), 2U);
  EXPECT_EQ(plan, 2);
  EXPECT_THROW(breaks_until(3), std::runtime_error);
  plan = 0;
  EXPECT_THROW(RunFirstThatWorks([] { throw std::runtime_error("an engine fell over"); }, another,
                                 [] { throw std::logic_error("the GPU is gone"); }),
               std::logic_error);
  EXPECT_EQ(plan, 0);
}

TEST(DescribeCall, SaysEngineKnobsNotesAndHowItWasChosen) {
  PlanChoice choice{.config = With({Note::kTensorCore}),
                    .workspace_bytes = 131,
                    .tensor_bytes = 4000,
                    .proposed = 40,
                    .refused = 0,
                    .timed = 0};
  choice.config.knobs = {{2, 3}, {14, 2}};
  EXPECT_EQ(DescribeCall(Request("f16"), choice),
            "engine 7 (tile_size 3, stages 2), tensor_core, workspace 131 B: first of heuristic A, "
            "40 proposed");
  choice.config = With({Note::kWinograd, Note::kWinograd4x4});
  choice.refused = 34;
  choice.timed = 6;
  EXPECT_EQ(DescribeCall(Request("f32"), choice),
            "engine 7, winograd, winograd_4x4, workspace 131 B: fastest of 6 timed, 40 proposed, "
            "34 not f32");
  choice.wrong = 1;
  choice.broke = 2;
  EXPECT_EQ(
      DescribeCall(Request("f32"), choice),
      "engine 7, winograd, winograd_4x4, workspace 131 B: fastest of 6 timed, 1 wrong, 2 broke, "
      "40 proposed, 34 not f32");
  EXPECT_EQ(DescribeEngine(With({}), 0), "engine 7, workspace 0 B");
}

// n1c8h8w8k8r3s3: 512 + 576 + 8 x 6 x 6 elements of 4 byte each are 5504 byte.
TEST(CallWork, AWorkspaceOfTheTensorsSizeMeansLaunchesThatNobodyKnows) {
  PlanChoice choice{.config = With({}), .workspace_bytes = 5503, .tensor_bytes = 5504};
  EXPECT_EQ(CallWork(Request("f32"), choice).launches, 1);
  choice.workspace_bytes = 5520;
  EXPECT_FALSE(CallWork(Request("f32"), choice).launches);
  EXPECT_DOUBLE_EQ(CallWork(Request("f32"), choice).bytes.at(Level::kDram), 5504);
}

TEST(NoteName, OfANewerLibraryIsItsNumberAndAKernelIsItsEngineAndKnobs) {
  EXPECT_EQ(NoteName(0), "tensor_core");
  EXPECT_EQ(NoteName(9), "strict_nan_prop");
  EXPECT_EQ(NoteName(10), "note10");
  EXPECT_EQ(NoteName(-1), "note-1");
  EXPECT_EQ(KnobName(44), "knob44");
  auto conv = With({}), other = With({});
  other.heuristic = "fallback";
  EXPECT_TRUE(SameKernel(conv, other));
  other.knobs = {{2, 1}};
  EXPECT_FALSE(SameKernel(conv, other));
  conv.engine = 8;
  EXPECT_FALSE(SameKernel(conv, With({})));
}

template <class Error>
std::string NoPlan(const std::string& type, const std::vector<workload::Failure>& failures,
                   const std::vector<workload::Failure>& modes = {}) {
  return fakes::RefusalOf<Error>(ThrowNoPlan, EngineCase(type), failures, modes);
}

TEST(ThrowNoPlan, CountsTheReasonsAndABrokenProposalMakesItAFailure) {
  EXPECT_EQ(NoPlan<Unsupported>("f32", {{"b"}, {"a"}, {"a"}}),
            "none of 3 proposals of cuDNN can be used: 2 a; 1 b");
  EXPECT_EQ(NoPlan<Unsupported>("f32", {}), "cuDNN proposes no engine for this convolution");
  EXPECT_EQ(NoPlan<Unsupported>("int8", {}),
            "cuDNN proposes no engine for this convolution (its integer engines read s8, not u8: "
            "use the type s8s8s8)");
  const workload::Failure refused{"refused", false}, broke{"NVRTC is missing", true};
  EXPECT_TRUE(IsUnsupported([&] { ThrowNoPlan(EngineCase("f32"), {refused, refused}); }));
  EXPECT_FALSE(IsUnsupported([&] { ThrowNoPlan(EngineCase("f32"), {refused, broke}); }));
  EXPECT_FALSE(IsUnsupported([&] { ThrowNoPlan(EngineCase("f32"), {refused}, {broke}); }));
  EXPECT_EQ(NoPlan<std::runtime_error>("f32", {refused}, {broke}),
            "none of 1 proposals of cuDNN can be used: 1 refused; NVRTC is missing");
}

TEST(RequireConvSupport, IntegersHaveNoBackwardPassAndFp8IsAForwardPassAlone) {
  EXPECT_NO_THROW(RequireConvSupport(EngineCase("s8s8s8")));
  EXPECT_NO_THROW(RequireConvSupport(EngineCase("f16", "bwd_data")));
  EXPECT_THROW(RequireConvSupport(EngineCase("s8s8s8", "bwd_data")), Unsupported);
  EXPECT_THROW(RequireConvSupport(EngineCase("int8", "bwd_weights")), Unsupported);
  EXPECT_NO_THROW(RequireConvSupport(EngineCase("fp8")));
  EXPECT_THROW(RequireConvSupport(EngineCase("fp8", "bwd_data")), Unsupported);
  auto fused = EngineCase("fp8");
  fused.eltwise = workload::Eltwise::kRelu;
  EXPECT_THROW(RequireConvSupport(fused), Unsupported);
}

}  // namespace
}  // namespace dlroof::conv2d
