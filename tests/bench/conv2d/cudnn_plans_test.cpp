// The choice of cuDNN's plans: what an engine may do for a type, the fastest right plan, its words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "bench/conv2d/cudnn_case.h"
#include "bench/workload/workload.h"
#include "tests/fakes/refusal.h"

namespace dlroof::conv2d {
namespace {

CudnnConv2dCase Request(const std::string& type, const std::string& direction = "fwd") {
  return ReadCudnnConv2dCase(workload::ParseBenchmarkName("Conv2D/gpu/cudnn/" + direction + "/" +
                                                          type + "/n1c8h8w8k8r3s3"));
}

Conv2dCase EngineCase(const std::string& type, const std::string& direction = "fwd") {
  return Request(type, direction).conv;
}

std::string Described(const PlanChoice& choice, const std::string& type) {
  return DescribeCall(Request(type), choice);
}

EngineConfig With(const std::vector<Note>& notes) {
  EngineConfig config{.engine = 7, .knobs = {}, .notes = {}, .heuristic = "A"};
  for (const auto note : notes) config.notes.push_back(static_cast<int>(note));
  return config;
}

TEST(ForbiddenReason, F32IsNeitherTensorCoresNorNarrowedInputs) {
  const auto conv = EngineCase("f32");
  EXPECT_FALSE(ForbiddenReason(conv, With({})));
  EXPECT_FALSE(ForbiddenReason(conv, With({Note::kWinograd, Note::kWinograd4x4})));
  EXPECT_FALSE(ForbiddenReason(conv, With({Note::kFft, Note::kNondeterministic})));
  EXPECT_TRUE(ForbiddenReason(conv, With({Note::kTensorCore})));
  EXPECT_TRUE(ForbiddenReason(conv, With({Note::kDownConvertInputs})));
  EXPECT_TRUE(ForbiddenReason(EngineCase("f32f32bf16"), With({Note::kTensorCore})));
}

TEST(ForbiddenReason, Tf32IsTensorCoresAlone) {
  EXPECT_FALSE(ForbiddenReason(EngineCase("tf32"), With({Note::kTensorCore})));
  EXPECT_TRUE(ForbiddenReason(EngineCase("tf32"), With({})));
}

TEST(ForbiddenReason, NarrowTypesTakeEveryEngineThatSumsInF32) {
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
}

TEST(WorkspaceLimit, IsHalfOfWhatIsFreeUpTo8GiB) {
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
TEST(TimePlans, APlanThatBreaksIsDroppedAndTheOthersAreTimed) {
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
}

TEST(TimePlans, AShortCallIsRepeatedToAMillisecond) {
  int most = 0;
  TimePlans(
      1,
      [&](size_t, int calls) {
        most = std::max(most, calls);
        return 5e-5;
      },
      [] {});
  EXPECT_EQ(most, 20);
}

TEST(TimePlans, ABrokenGpuOrNoPlanLeftIsNoResult) {
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

TEST(Fastest, IsTheSmallestMedian) {
  const auto found = Fastest({{0, {3, 3, 3}}, {5, {1.4, 1.5, 9}}, {6, {2, 2, 2}}});
  EXPECT_EQ(found.config, 5U);
  EXPECT_DOUBLE_EQ(found.heuristic_over_best.value(), 2);  // 3 / 1.5
}

TEST(Fastest, LeavesTheHeuristicsChoiceWithinTheNoise) {
  // Medians 1.00 and 0.99, and the times overlap.
  const auto near = Fastest({{0, {0.98, 1, 1.02}}, {5, {0.97, 0.99, 1.01}}});
  EXPECT_EQ(near.config, 0U);
  EXPECT_EQ(near.heuristic_over_best, 1);
  // As near, but slowest below fastest.
  const auto clear = Fastest({{0, {1, 1, 1}}, {5, {0.99, 0.99, 0.99}}});
  EXPECT_EQ(clear.config, 5U);
  EXPECT_DOUBLE_EQ(clear.heuristic_over_best.value(), 1 / 0.99);
  EXPECT_THROW(Fastest({}), std::logic_error);
}

TEST(Fastest, HasNoGapWhereTheHeuristicsChoiceFailed) {
  const auto found = Fastest({{4, {1, 1, 1}}, {5, {0.995, 0.995, 0.995}}});
  EXPECT_EQ(found.config, 5U);  // 4 is nobody's choice
  EXPECT_FALSE(found.heuristic_over_best);
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
  EXPECT_EQ(Described(choice, "f16"),
            "engine 7 (tile_size 3, stages 2), tensor_core, workspace 131 B: first of heuristic A, "
            "40 proposed");
  choice.config = With({Note::kWinograd, Note::kWinograd4x4});
  choice.refused = 34;
  choice.timed = 6;
  EXPECT_EQ(Described(choice, "f32"),
            "engine 7, winograd, winograd_4x4, workspace 131 B: fastest of 6 timed, 40 proposed, "
            "34 not f32");
  choice.wrong = 1;
  choice.broke = 2;
  EXPECT_EQ(
      Described(choice, "f32"),
      "engine 7, winograd, winograd_4x4, workspace 131 B: fastest of 6 timed, 1 wrong, 2 broke, "
      "40 proposed, 34 not f32");
  EXPECT_EQ(DescribeEngine({.config = With({})}), "engine 7, workspace 0 B");
}

// n1c8h8w8k8r3s3: 512 + 576 + 8 x 6 x 6 elements of 4 byte each are 5504 byte.
TEST(CallWork, AWorkspaceOfTheTensorsSizeMeansLaunchesThatNobodyKnows) {
  PlanChoice choice{.config = With({}), .workspace_bytes = 5503, .tensor_bytes = 5504};
  EXPECT_EQ(CallWork(Request("f32"), choice).launches, 1);
  choice.workspace_bytes = 5520;
  EXPECT_FALSE(CallWork(Request("f32"), choice).launches);
  EXPECT_DOUBLE_EQ(CallWork(Request("f32"), choice).bytes.at(Level::kDram), 5504);
}

TEST(NoteName, OfANewerLibraryIsItsNumber) {
  EXPECT_EQ(NoteName(0), "tensor_core");
  EXPECT_EQ(NoteName(9), "strict_nan_prop");
  EXPECT_EQ(NoteName(10), "note10");
  EXPECT_EQ(NoteName(-1), "note-1");
  EXPECT_EQ(KnobName(43), "swap_ab");
  EXPECT_EQ(KnobName(44), "knob44");
}

TEST(SameKernel, ByEngineAndKnobsWhoeverProposedIt) {
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
  return fakes::RefusalOf<Error>([&] { ThrowNoPlan(EngineCase(type), failures, modes); });
}

TEST(ThrowNoPlan, CountsTheReasonsAndListsTheMostFrequentFirst) {
  EXPECT_EQ(NoPlan<Unsupported>("f32", {{"b"}, {"a"}, {"a"}}),
            "none of 3 proposals of cuDNN can be used: 2 a; 1 b");
  EXPECT_EQ(NoPlan<Unsupported>("f32", {}), "cuDNN proposes no engine for this convolution");
  EXPECT_EQ(NoPlan<Unsupported>("int8", {}),
            "cuDNN proposes no engine for this convolution (its integer engines read s8, not u8: "
            "use the type s8s8s8)");
}

TEST(ThrowNoPlan, ABrokenProposalMakesItAFailure) {
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
