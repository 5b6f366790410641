// The names of cuDNN's convolutions and the graphs that they mean.
#include "bench/conv2d/cudnn_case.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

CudnnConv2dCase Read(const std::string& rest) {
  return ReadCudnnConv2dCase(workload::ParseBenchmarkName("Conv2D/gpu/cudnn/" + rest));
}

std::string CudnnRefusal(const std::string& rest) {
  return fakes::RefusalOf([&] { Read(rest); });
}

TEST(ReadCudnnConv2dCase, ChannelsLastAndTheHeuristicAreTheDefault) {
  const auto plain = Read("fwd/f16/n1c8h8w8k8r3s3");
  EXPECT_EQ(plain.conv.layout, Conv2dLayout::kNhwc);
  EXPECT_EQ(plain.choice, EngineChoice::kHeuristic);
  EXPECT_EQ(plain.conv.types, (workload::ProductTypes{"f16", "f16", "f16"}));
  EXPECT_FALSE(plain.conv.fpmath);
  const auto chosen = Read("fwd/f16/n1c8h8w8k8r3s3/bias/relu/nchw/best");
  EXPECT_EQ(chosen.conv.layout, Conv2dLayout::kNchw);
  EXPECT_EQ(chosen.choice, EngineChoice::kBest);
  EXPECT_TRUE(chosen.conv.bias && chosen.conv.eltwise == workload::Eltwise::kRelu);
}

TEST(ReadCudnnConv2dCase, AnEngineHasANumber) {
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
}

TEST(ReadCudnnConv2dCase, Tf32IsF32StoredAndLessMultiplied) {
  const auto conv = Read("bwd_weights/tf32/n1c8h8w8k8r3s3").conv;
  EXPECT_EQ(conv.types, (workload::ProductTypes{"f32", "f32", "f32"}));
  EXPECT_EQ(conv.type, "tf32");
  EXPECT_EQ(conv.fpmath, "tf32-truncated");
}

TEST(ReadCudnnConv2dCase, RefusesWhatCannotBe) {
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

// In a program that has not opened the CUDA module.
TEST(MakeWorkload, ReadsTheNamesOfCudnnWithoutCuda) {
  for (const auto& backend : workload::AllBackends())
    if (backend.library == "cudnn" && backend.prepare)
      GTEST_SKIP() << "another test opened a module in this process";
  const auto workload =
      workload::MakeWorkload("Conv2D/gpu/cudnn/fwd/f16/n16c64h112w112k64r3s3_s2p1/best/cold");
  EXPECT_EQ(workload.cache, workload::CacheState::kCold);
  EXPECT_THROW(workload.prepare({}), Unsupported);
  EXPECT_THROW(
      workload::MakeWorkload("LSTM/gpu/cudnn/bwd/tf32/t16n16i32h64/persist-static").prepare({}),
      Unsupported);
  EXPECT_THROW(workload::MakeWorkload("Conv2D/gpu/cudnn/fwd/f16/n16"), BadInput);
  EXPECT_THROW(workload::MakeWorkload("Conv2D/gpu/cudnn/fwd/f16/n1c8h8w8k8r3s3/nhwc"), BadInput);
  EXPECT_THROW(workload::MakeWorkload("LSTM/gpu/cudnn/fwd/f16/t1n1i1h1"), BadInput);
}

using Four = std::array<int64_t, 4>;
using Two = std::array<int64_t, 2>;

GraphSpec Spec(const std::string& rest) { return GraphOf(Read(rest)); }

// 112 rows with one row of padding below: (112 + 1 - 3) / 2 + 1 = 56.
TEST(GraphOf, KeepsPaddingThatDiffersAtTheTwoEnds) {
  const auto graph = Spec("fwd/f16/n16c64h112w112k32r3s3_s2p0:1x0:1");
  EXPECT_EQ(TensorOf(graph, kSourceId),
            (TensorSpec{1, "f16", {16, 64, 112, 112}, {802816, 1, 7168, 64}, false}));
  EXPECT_EQ(TensorOf(graph, kWeightsId),
            (TensorSpec{2, "f16", {32, 64, 3, 3}, {576, 1, 192, 64}, false}));
  EXPECT_EQ(TensorOf(graph, kDestinationId),
            (TensorSpec{3, "f16", {16, 32, 56, 56}, {100352, 1, 1792, 32}, false}));
  const auto& c = graph.convolution;
  EXPECT_EQ(c.compute_type, "f32");
  EXPECT_EQ(c.strides, (Two{2, 2}));
  EXPECT_EQ(c.pads_before, (Two{0, 0}));
  EXPECT_EQ(c.pads_after, (Two{1, 1}));
  EXPECT_EQ(c.dilations, (Two{1, 1}));
  EXPECT_TRUE(graph.pointwise.empty());
}

TEST(GraphOf, HeightComesBeforeWidth) {
  const auto& c = Spec("bwd_data/f32/n1c8h20w30k6r2s3_s2x1p0:1x2:3d1x2").convolution;
  EXPECT_EQ(c.direction, ProductDirection::kBackwardData);
  EXPECT_EQ(c.strides, (Two{2, 1}));
  EXPECT_EQ(c.pads_before, (Two{0, 2}));
  EXPECT_EQ(c.pads_after, (Two{1, 3}));
  EXPECT_EQ(c.dilations, (Two{1, 2}));
}

// Source 2 x 4 x 9 x 7, weights 6 x 4 x 3 x 3, destination 2 x 6 x 7 x 5, bias 6: 504, 216, 420 and
// 6 elements of 2 byte; what stands between convolution and relu is never in memory.
TEST(TensorBytes, CountsWhatIsInMemory) {
  EXPECT_DOUBLE_EQ(TensorBytes(Spec("fwd/f16/n2c4h9w7k6r3s3")), 2 * (504 + 216 + 420));
  EXPECT_DOUBLE_EQ(TensorBytes(Spec("fwd/f16/n2c4h9w7k6r3s3/bias/relu")),
                   2 * (504 + 216 + 420 + 6));
}

TEST(GraphOf, GroupsShowInTheWeightsChannels) {
  const auto graph = Spec("bwd_weights/bf16/n2c12h8w8k18r3s3_p1g3/nchw");
  EXPECT_EQ(TensorOf(graph, kWeightsId).dimensions, (Four{18, 4, 3, 3}));
  EXPECT_EQ(TensorOf(graph, kWeightsId).strides, (Four{36, 9, 3, 1}));
  EXPECT_EQ(TensorOf(graph, kSourceId).strides, (Four{768, 64, 8, 1}));
}

TEST(GraphOf, IntegersAreSummedInIntegers) {
  const auto graph = Spec("fwd/s8s8f32/n1c16h8w8k16r1s1");
  EXPECT_EQ(graph.convolution.compute_type, "s32");
  EXPECT_EQ(TensorOf(graph, kDestinationId).type, "f32");
}

TEST(GraphOf, ProductsOfFp8AreSummedInF32) {
  const auto graph = Spec("fwd/fp8/n1c16h8w8k32r1s1");
  EXPECT_EQ(graph.convolution.compute_type, "f32");
  EXPECT_EQ(TensorOf(graph, kSourceId).type, "e4m3");
  EXPECT_EQ(TensorOf(graph, kDestinationId).type, "e4m3");
}

TEST(GraphOf, BiasThenReluFollowTheConvolution) {
  const auto graph = Spec("fwd/s8s8s8/n1c16h8w8k24r1s1/bias/relu");
  EXPECT_EQ(graph.convolution.destination, kSumId);
  EXPECT_EQ(TensorOf(graph, kBiasId),
            (TensorSpec{4, "f32", {1, 24, 1, 1}, {24, 1, 24, 24}, false}));
  // The sum as the convolution makes it, what bias makes of it in f32; neither is in memory.
  EXPECT_EQ(TensorOf(graph, kSumId).type, "s32");
  EXPECT_TRUE(TensorOf(graph, kSumId).is_virtual);
  EXPECT_EQ(TensorOf(graph, kBiasedId).type, "f32");
  EXPECT_TRUE(TensorOf(graph, kBiasedId).is_virtual);
  ASSERT_EQ(graph.pointwise.size(), 2U);
  EXPECT_EQ(graph.pointwise[0], (PointwiseSpec{PointwiseMode::kAdd, kSumId, kBiasId, kBiasedId}));
  EXPECT_EQ(graph.pointwise[1],
            (PointwiseSpec{PointwiseMode::kRelu, kBiasedId, 0, kDestinationId}));
}

TEST(GraphOf, OneFusedOperationWritesTheDestination) {
  const auto bias = Spec("fwd/f16/n1c16h8w8k24r1s1/bias");
  ASSERT_EQ(bias.pointwise.size(), 1U);
  EXPECT_EQ(bias.pointwise[0],
            (PointwiseSpec{PointwiseMode::kAdd, kSumId, kBiasId, kDestinationId}));
  EXPECT_THROW(TensorOf(bias, kBiasedId), std::logic_error);
  const auto relu = Spec("fwd/f16/n1c16h8w8k24r1s1/relu");
  ASSERT_EQ(relu.pointwise.size(), 1U);
  EXPECT_EQ(relu.pointwise[0], (PointwiseSpec{PointwiseMode::kRelu, kSumId, 0, kDestinationId}));
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
  EXPECT_EQ(graph.convolution.pads_before, (std::array<int64_t, 2>{0, 0}));
  EXPECT_EQ(graph.convolution.pads_after, (std::array<int64_t, 2>{0, 0}));
  EXPECT_EQ(PlainSource(padded), TensorOf(GraphOf(plain), kSourceId));
  EXPECT_EQ(GraphOf(plain).convolution.pads_after, (std::array<int64_t, 2>{1, 3}));
}

TEST(Padded, NeedsPadding) {
  EXPECT_THAT(fakes::RefusalOf<BadInput>([] { Read("fwd/f32/n1c8h8w8k8r3s3/padded"); }),
              HasSubstr("needs a problem with padding"));
  EXPECT_TRUE(Read("fwd/f32/n1c8h8w8k8r3s3_p1/padded").padded);
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

TEST(Padded, ItsCopiesAreLaunchesAndNoCompulsoryTraffic) {
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

}  // namespace
}  // namespace dlroof::conv2d
