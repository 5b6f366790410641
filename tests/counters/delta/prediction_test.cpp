#include "counters/delta/prediction.h"

#include <gtest/gtest.h>

#include <random>

#include "counters/base/error.h"
#include "tests/fakes/delta_layers.h"

namespace dlroof::delta {
namespace {

TEST(PlanTile, TheWidestTileThatPadsNoMore) {
  const auto gpu = FindGpu("v100");
  const auto columns = [&](int64_t k) {
    return PlanTile(fakes::Layer(2, 16, 14, 14, k, 3, 1, 1), gpu).tile.n;
  };
  EXPECT_EQ(columns(32), 32);
  EXPECT_EQ(columns(64), 64);
  EXPECT_EQ(columns(96), 32);  // 96 = 3 x 32; 64 and 128 pad to 128
  EXPECT_EQ(columns(128), 128);
  EXPECT_EQ(columns(728), 128);  // 736, 768, 768: 4 % more
}

TEST(PlanTile, KStepsAre32ByteAndTilesMustFit) {
  const auto gpu = FindGpu("v100");
  auto layer = fakes::Layer(2, 16, 14, 14, 128, 3, 1, 1);
  EXPECT_EQ(PlanTile(layer, gpu).tile.k, 8);
  layer.element_bytes = 2;
  EXPECT_EQ(PlanTile(layer, gpu).tile.k, 16);
  layer.element_bytes = 4;
  // 65,536 registers hold 256 x 128 sums twice, 512 x 256 not.
  EXPECT_EQ(PlanTile(layer, gpu, 256, 128).ctas_per_sm, 1);
  EXPECT_THROW(PlanTile(layer, gpu, 512, 256), BadInput);
}

TEST(PlanTile, WeightGradientsSplitKUntilTheChipIsFull) {
  auto layer = fakes::Layer(256, 64, 56, 56, 64, 1, 1, 0);
  layer.direction = ProductDirection::kBackwardWeights;
  const auto plan = PlanTile(layer, FindGpu("v100"));  // one tile: m 64, n 64
  EXPECT_EQ(plan.tile.slices, 80);
}

KernelTiling Tiling(std::string_view name) {
  auto tiling = ReadKernelName(name);
  EXPECT_TRUE(tiling) << name;
  return tiling.value_or(KernelTiling{.m = 128, .n = 64});
}

TEST(PlanTile, OfHoppersKernelsHasTheirClusterAndBulkCopies) {
  auto layer = fakes::Layer(16, 64, 112, 112, 64, 3, 2, 0);
  layer.element_bytes = 2;
  auto tiling = Tiling("sm90_xmma_dgrad_tilesize256x64x32_strided_execute_kernel");
  tiling.cluster_m = 4;
  const auto h200 = FindGpu("h200");
  auto plan = PlanTile(layer, h200, tiling, std::nullopt);
  EXPECT_EQ(plan.loads, LoadPath::kBulk);
  EXPECT_EQ(plan.ctas_per_sm, 1);
  EXPECT_EQ(plan.tile.k, 32);
  EXPECT_EQ(plan.tile.cluster_m, 4);
  EXPECT_EQ(plan.tile.cluster_n, 1);
  EXPECT_EQ(plan.tile.taps, 1);  // forward: all taps
  layer.direction = ProductDirection::kBackwardData;
  EXPECT_EQ(PlanTile(layer, h200, tiling, std::nullopt).tile.taps, 0.25);  // stride 2 x 2
  // 132 SMs hold 33 clusters of 4, and 16 of 8.
  EXPECT_EQ(CachesOf(h200, plan).l2.ctas_per_wave, 132);
  plan.tile.cluster_m = 8;
  EXPECT_EQ(CachesOf(h200, plan).l2.ctas_per_wave, 128);
}

TEST(PlanTile, SlicesAreTakenWhereTheyAreKnown) {
  auto layer = fakes::Layer(16, 64, 112, 112, 64, 3, 2, 0);
  layer.direction = ProductDirection::kBackwardWeights;
  const auto tiling = Tiling("sm90_xmma_wgrad_tilesize64x64x64_execute_segment_k_on_kernel");
  EXPECT_EQ(PlanTile(layer, FindGpu("h200"), tiling, 11).tile.slices, 11);
}

TEST(PlanTile, OtherKernelsShareWhatNeighbouringSmsMerge) {
  const auto layer = fakes::Layer(16, 64, 112, 112, 64, 3, 2, 0);
  const auto simt = Tiling("sm80_xmma_fprop_f32f32_f32f32_f32_tilesize256x64x8_stage3_g1_ffma");
  const auto plan = PlanTile(layer, FindGpu("h200"), simt, std::nullopt);
  EXPECT_EQ(plan.loads, LoadPath::kThroughL1);
  EXPECT_EQ(plan.tile.cluster_m, 2);
  EXPECT_EQ(PlanTile(layer, FindGpu("a100"), simt, std::nullopt).tile.cluster_m, 1);
  const auto matrix = Tiling("cutlass_80_tensorop_s16816_128x128_32x4_nn");
  EXPECT_EQ(PlanTile(layer, FindGpu("a100"), matrix, std::nullopt).loads, LoadPath::kUnknown);
}

// One CTA on one SM, everything but the multiply-adds free: steps x tile / rate, by hand.
TEST(ModelTime, OneCtaByHand) {
  GpuSpec gpu = FindGpu("v100");
  gpu.l1_bytes_per_clock = gpu.shared_bytes_per_clock = 1e12;
  gpu.l2_bytes_per_second = gpu.dram_bytes_per_second = 1e30;
  gpu.l1_latency_clocks = gpu.l2_latency_clocks = gpu.dram_latency_clocks = 100;
  gpu.shared_latency_clocks = 20;
  gpu.launch_seconds = 1e-9;
  const auto layer = fakes::Layer(1, 64, 8, 16, 64, 1, 1, 0);  // m 128, n 64, k 64
  const auto plan = PlanTile(layer, gpu, 128, 64);
  const auto traffic = ModelTraffic(layer, plan.tile, CachesOf(gpu));
  const auto time = ModelTime(layer, plan, traffic, gpu, "f32");
  // 8 steps of 128 x 64 x 8 / 64 = 1024 clocks, after 100 + 20 of the first load.
  EXPECT_NEAR(time.seconds * gpu.clock_hz, 8 * 1024 + 120, 0.01);
  EXPECT_NEAR(time.lower_bound_seconds * gpu.clock_hz, 8 * 1024, 0.01);
  EXPECT_EQ(time.bottleneck, Bottleneck::kCompute);
  EXPECT_EQ(time.waves, 1);
}

TEST(ModelTime, TheScarceResourceIsTheBottleneck) {
  const auto bottleneck = [](const char* resource, double factor) {
    ConvQuestion question{.layer = fakes::Layer(64, 64, 56, 56, 256, 1, 1, 0)};
    return PredictConv(question, Scaled(FindGpu("v100"), resource, factor)).time.bottleneck;
  };
  EXPECT_EQ(bottleneck("dram", 1.0 / 8), Bottleneck::kDram);
  EXPECT_EQ(bottleneck("l2", 1.0 / 16), Bottleneck::kL2);
  EXPECT_EQ(bottleneck("l1", 1.0 / 64), Bottleneck::kL1);
  EXPECT_EQ(bottleneck("shared", 1.0 / 64), Bottleneck::kShared);
  EXPECT_EQ(bottleneck("mac", 1.0 / 8), Bottleneck::kCompute);
}

TEST(ModelTime, SmallKernelsAreBoundByTheirLaunch) {
  ConvQuestion question{.layer = fakes::Layer(1, 8, 4, 4, 8, 1, 1, 0)};
  EXPECT_EQ(PredictConv(question, FindGpu("h100")).time.bottleneck, Bottleneck::kLaunch);
}

TEST(PredictConv, FasterResourcesNeverMakeALayerSlower) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 30; ++i) {
    ConvQuestion question;
    question.layer =
        fakes::Layer(fakes::Pick(random, {1, 16, 64}), fakes::Pick(random, {3, 64, 256}), 28, 28,
                     fakes::Pick(random, {32, 128, 512}), fakes::Pick(random, {1, 3}),
                     fakes::Pick(random, {1, 2}), 1);
    question.layer.direction = static_cast<ProductDirection>(random() % 3);
    const auto gpu = FindGpu("a100");
    const double before = PredictConv(question, gpu).time.seconds;
    for (const char* resource : {"mac", "shared", "l1", "l2", "dram", "clock"})
      EXPECT_LE(PredictConv(question, Scaled(gpu, resource, 2)).time.seconds, before * (1 + 1e-9))
          << resource;
  }
}

TEST(ModelledWork, IsWorkWithItsOrigin) {
  ConvQuestion question;
  question.layer = fakes::Layer(16, 64, 112, 112, 64, 3, 2, 1);
  question.kernel = "volta_scudnn_128x64_relu_interior_nn_v1";
  const auto gpu = FindGpu("v100");
  const auto prediction = PredictConv(question, gpu);
  const auto work = ModelledWork(question, prediction, gpu);
  // Of 56 x 3 pairs of a row and a tap one is above the image, of columns too.
  EXPECT_EQ(work.flops.at("fp32.vector"), 2.0 * 16 * 64 * 64 * 167 * 167);
  EXPECT_GT(work.bytes.at(Level::kL1), work.bytes.at(Level::kL2));
  EXPECT_GT(work.bytes.at(Level::kL2), work.bytes.at(Level::kDram));
  EXPECT_EQ(work.launches, 1);
  EXPECT_EQ(HowModelled(prediction, gpu),
            "DeLTA-style model of NVIDIA Tesla V100-SXM2 (GV100): tile 128x64x8 (kernel name), not "
            "measured");
  question.kernel.clear();
  EXPECT_EQ(PredictConv(question, gpu).tile_from, "rule");
  question.type = "f64";
  EXPECT_THROW(PredictConv(question, gpu), BadInput);
}

// A Winograd kernel moves other bytes than the product that it replaces.
TEST(PredictConv, RefusesKernelsThatAreNoImplicitGemm) {
  ConvQuestion question{.layer = fakes::Layer(16, 64, 56, 56, 64, 3, 1, 1)};
  const auto reason = [&](const char* kernel) {
    question.kernel = kernel;
    return RefusalReason(question, FindGpu("v100"));
  };
  EXPECT_EQ(reason("volta_scudnn_128x64_relu_interior_nn_v1"), std::nullopt);
  EXPECT_EQ(reason("volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1"),
            Reason{"its kernel uses Winograd, but the model covers only implicit GEMMs"});
  EXPECT_EQ(reason("engine 6, winograd_4x4, workspace 0 B: first of heuristic A, 9 proposed"),
            reason("winograd3x3Kernel"));
  EXPECT_EQ(reason("fft2d_r2c_32x32"),
            Reason{"its kernel uses FFT, but the model covers only implicit GEMMs"});
  EXPECT_THROW(PredictConv(question, FindGpu("v100")), BadInput);
  // 256 x 256 sums are 1,024 threads of 128 registers: 131,072, and an SM has 65,536.
  EXPECT_TRUE(reason("sm80_xmma_fprop_256x256x8"));
}

TEST(PipeOf, MatrixUnitsWhereTheGpuHasThem) {
  EXPECT_EQ(PipeOf("f16", FindGpu("p100")), "fp16.vector");
  EXPECT_EQ(PipeOf("f16", FindGpu("v100")), "fp16.matrix");
  EXPECT_EQ(PipeOf("f32", FindGpu("h200")), "fp32.vector");
}

}  // namespace
}  // namespace dlroof::delta
