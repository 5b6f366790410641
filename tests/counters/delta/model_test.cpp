#include "counters/delta/model.h"

#include <gtest/gtest.h>

#include "counters/delta/study.h"
#include "tests/fakes/delta_layers.h"

namespace dlroof {
namespace {

TEST(ModelTraffic, IsCloseToTheExactCountOnRandomLayers) {
  const auto study = StudyRandomLayers(60, 2026);
  ASSERT_EQ(study.size(), 4U);
  for (const auto& level : study) {
    EXPECT_EQ(level.errors.size(), 60U);
    EXPECT_LE(level.median, 0.05) << level.level;
    EXPECT_LE(level.percentile95, 0.20) << level.level;
  }
}

TEST(ModelTraffic, AnAlignedPointwiseLayerIsExact) {
  // 1x1 on 32x32 planes: 32 lanes are 4 sectors, a step of 8 channels shares nothing. A: 1024 x 64
  // floats = 8192 sectors for each of 2 columns; B: 128 x 64 = 1024 sectors for each of 8 rows.
  const auto layer = Layer(1, 64, 32, 32, 128, 1, 1, 0);
  const auto bytes = ModelTraffic(layer, {128, 64, 8}, {32, 32, {0, 8}});
  EXPECT_DOUBLE_EQ(bytes.l1_loads, 32.0 * (2 * 8192 + 8 * 1024));
  EXPECT_DOUBLE_EQ(bytes.l2_step_loads, bytes.l1_loads);
  EXPECT_DOUBLE_EQ(bytes.l2_tile_loads, bytes.l1_loads);
  EXPECT_DOUBLE_EQ(bytes.stores, 4.0 * 1024 * 128);
  // Waves of 8 CTAs: one column each; A twice, B once.
  EXPECT_DOUBLE_EQ(bytes.dram.a, 2 * 4.0 * 1024 * 64);
  EXPECT_DOUBLE_EQ(bytes.dram.b, 4.0 * 128 * 64);
}

// [1] IFmap loads of L1 over the elements loaded, padding included: values of a brute-force program
// for published layers (32-byte sectors).
TEST(ModelTraffic, LoadInefficiencyOfPublishedLayers) {
  struct Case {
    ConvLayer layer;
    double inefficiency;
  };
  const std::vector<Case> cases = {{Layer(4, 16, 14, 14, 64, 3, 1, 1), 1.199},
                                   {Layer(4, 16, 28, 28, 64, 1, 1, 0), 1.000},
                                   {Layer(16, 16, 7, 7, 64, 1, 1, 0), 1.356},
                                   {Layer(4, 16, 56, 56, 64, 1, 2, 0), 2.000}};
  for (const auto& [layer, inefficiency] : cases) {
    const auto gemm = GemmOf(layer);
    const auto sectors = EnumerateSectors(gemm, {128, 64, 8}, 32);
    EXPECT_NEAR(32 * sectors.a.warp / (4.0 * static_cast<double>(gemm.m * gemm.k)), inefficiency,
                0.03);
  }
}

}  // namespace
}  // namespace dlroof
