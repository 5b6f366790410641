#include "counters/delta/model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "counters/base/error.h"
#include "counters/delta/prediction.h"
#include "tests/counters/delta/brute_force.h"
#include "tests/fakes/delta_layers.h"

namespace dlroof::delta {
namespace {

struct Trial {
  ConvLayer layer;
  CtaTile tile;
  CacheShape caches;
};

ConvShape RandomShape(std::mt19937_64& random) {
  ConvShape s;
  s.groups = fakes::Pick(random, {1, 1, 1, 1, 2, 4});
  s.n = fakes::Pick(random, {1, 2, 3, 4});
  s.c = s.groups * fakes::Pick(random, {3, 8, 16, 24, 32});
  s.k = s.groups * fakes::Pick(random, {8, 16, 32, 48, 96});
  s.r = fakes::Pick(random, {1, 1, 3, 3, 3, 5, 7});
  s.s = fakes::Pick(random, {0, 0, 0, 0, 0, 1, 3});
  if (s.s == 0) s.s = s.r;
  s.h = fakes::Pick(random, {7, 9, 13, 14, 19, 23, 27, 28, 32, 35});
  s.w = fakes::Pick(random, {0, 0, 7, 10, 14, 17, 28, 31, 40, 55});
  if (s.w == 0) s.w = s.h;
  s.stride_h = s.stride_w = fakes::Pick(random, {1, 1, 1, 2, 2, 3, 4});
  s.dilation_h = s.dilation_w = fakes::Pick(random, {1, 1, 1, 1, 2, 3});
  if (fakes::Pick(random, {0, 1, 1, 1}) == 1) {
    s.pad_top = s.pad_bottom = (s.r - 1) / 2 * s.dilation_h;
    s.pad_left = s.pad_right = (s.s - 1) / 2 * s.dilation_w;
  }
  return s;
}

Trial RandomTrial(std::mt19937_64& random) {
  Trial trial;
  do {
    trial.layer.shape = RandomShape(random);
  } while (OutputRows(trial.layer.shape) < 1 || OutputColumns(trial.layer.shape) < 1);
  trial.layer.direction = static_cast<ProductDirection>(fakes::Pick(random, {0, 1, 2}));
  trial.layer.layout = static_cast<TensorLayout>(fakes::Pick(random, {0, 1}));
  trial.layer.element_bytes = fakes::Pick(random, {1, 2, 2, 4, 4, 4, 8});
  trial.tile = {fakes::Pick(random, {64, 128, 128, 256}), fakes::Pick(random, {32, 64, 128}),
                fakes::Pick(random, {4, 8, 8, 16, 32})};
  if (trial.layer.direction == ProductDirection::kBackwardWeights)
    trial.tile.slices = fakes::Pick(random, {1, 2, 4, 8});
  // L2 sizes [byte] and CTAs per wave are small, so that most layers do not fit.
  trial.caches.l2 = {static_cast<double>(fakes::Pick(random, {30, 100, 400, 2000})) * 1e3,
                     static_cast<double>(fakes::Pick(random, {5, 20, 54, 108}))};
  return trial;
}

std::string Text(const Trial& trial) {
  const auto& s = trial.layer.shape;
  return fmt::format(
      "{} {} {} byte n{}c{}h{}w{}k{}r{}s{}_s{}p{}x{}d{}g{} tile {}x{}x{}, K in {}, {} CTAs a wave, "
      "L2 {} kB",
      Key(trial.layer.direction), trial.layer.layout == TensorLayout::kNhwc ? "nhwc" : "nchw",
      trial.layer.element_bytes, s.n, s.c, s.h, s.w, s.k, s.r, s.s, s.stride_h, s.pad_top,
      s.pad_left, s.dilation_h, s.groups, trial.tile.m, trial.tile.n, trial.tile.k,
      trial.tile.slices, trial.caches.l2.ctas_per_wave, trial.caches.l2.bytes / 1e3);
}

std::array<double, 4> Levels(const TrafficBytes& bytes) {
  return {L1Bytes(bytes), L2StepBytes(bytes), L2TileBytes(bytes), Total(bytes.dram)};
}

TEST(ModelTraffic, IsCloseToTheExactCountOnRandomLayers) {
  constexpr size_t kLayers = 60;
  constexpr const char* kLevels[] = {"L1", "L2 step", "L2 tile", "DRAM"};
  std::array<std::vector<std::pair<double, std::string>>, 4> errors;  // absolute, by level
  std::mt19937_64 random(2026);
  for (size_t i = 0; i < kLayers; ++i) {
    const auto trial = RandomTrial(random);
    const auto model = Levels(ModelTraffic(trial.layer, trial.tile, trial.caches));
    const auto exact = Levels(BruteTraffic(trial.layer, trial.tile, trial.caches));
    for (size_t level = 0; level < errors.size(); ++level)
      errors[level].emplace_back(std::abs(model[level] / exact[level] - 1), Text(trial));
  }
  for (size_t level = 0; level < errors.size(); ++level) {
    std::ranges::sort(errors[level]);
    EXPECT_LE(errors[level][kLayers / 2].first, 0.05) << kLevels[level];
    const auto& [percentile95, layer] = errors[level][kLayers - 1 - kLayers / 20];
    EXPECT_LE(percentile95, 0.20) << kLevels[level] << ": " << layer;
  }
}

TEST(ModelTraffic, AnAlignedPointwiseLayerIsExact) {
  // 1x1 on 32x32 planes: 32 lanes are 4 sectors, a step of 8 channels shares nothing. A: 1024 x 64
  // floats = 8192 sectors for each of 2 columns; B: 128 x 64 = 1024 sectors for each of 8 rows.
  const auto layer = fakes::Layer(1, 64, 32, 32, 128, 1, 1, 0);
  const auto bytes = ModelTraffic(layer, {128, 64, 8}, {32, 32, {0, 8}});
  EXPECT_DOUBLE_EQ(bytes.l1_loads, 32.0 * (2 * 8192 + 8 * 1024));
  EXPECT_DOUBLE_EQ(bytes.l2_step_loads, bytes.l1_loads);
  EXPECT_DOUBLE_EQ(bytes.l2_tile_loads, bytes.l1_loads);
  EXPECT_DOUBLE_EQ(bytes.stores, 4.0 * 1024 * 128);
  // Waves of 8 CTAs: one column each; A twice, B once.
  EXPECT_DOUBLE_EQ(bytes.dram.a, 2 * 4.0 * 1024 * 64);
  EXPECT_DOUBLE_EQ(bytes.dram.b, 4.0 * 128 * 64);
}

// The layer above: CTAs of a cluster load common data once. L1, and what is not common, stay.
TEST(ModelTraffic, AClusterLoadsCommonDataOnce) {
  const auto layer = fakes::Layer(1, 64, 32, 32, 128, 1, 1, 0);
  const auto bytes = [&](int64_t m, int64_t n, double taps) {
    return ModelTraffic(layer, {128, 64, 8, 1, m, n, taps}, {32, 32, {0, 8}});
  };
  const double l1 = bytes(1, 1, 1).l1_loads;
  for (const auto& tall : {bytes(8, 1, 1), bytes(9, 1, 1)}) {  // all 8 rows
    EXPECT_DOUBLE_EQ(tall.l2_tile_loads, 32.0 * (2 * 8192 + 1024));
    EXPECT_DOUBLE_EQ(tall.l2_step_loads, tall.l2_tile_loads);
    EXPECT_DOUBLE_EQ(tall.l1_loads, l1);
  }
  EXPECT_DOUBLE_EQ(bytes(3, 1, 1).l2_tile_loads, 32.0 * (2 * 8192 + 3 * 1024));  // 3, 3, 2 rows
  EXPECT_DOUBLE_EQ(bytes(1, 2, 1).l2_tile_loads, 32.0 * (8192 + 8 * 1024));
  // A quarter of the filters' taps.
  EXPECT_DOUBLE_EQ(bytes(1, 1, 0.25).l2_tile_loads, 32.0 * (2 * 8192 + 2 * 1024));
  // A cluster's columns run together, so that DRAM is read once for both.
  EXPECT_DOUBLE_EQ(bytes(1, 2, 1).dram.a, 4.0 * 1024 * 64);
  EXPECT_THROW(bytes(0, 1, 1), BadInput);
}

TEST(ModelTraffic, PartialSumsAreWrittenAndReadOfEachSlice) {
  auto layer = fakes::Layer(8, 4, 8, 8, 8, 1, 1, 0);
  layer.direction = ProductDirection::kBackwardWeights;  // m 8, n 4, k 512
  layer.element_bytes = 2;
  layer.layout = TensorLayout::kNhwc;
  const auto stores = [&](int64_t slices) {
    return ModelTraffic(layer, {16, 16, 8, slices}, {32, 32, {0, 8}}).stores;
  };
  EXPECT_DOUBLE_EQ(stores(4), stores(1) + 2 * 4 * 4 * (8 * 4));
}

// [1] IFmap loads of L1 over the elements loaded, padding included: values of a brute-force program
// for published layers (32-byte sectors).
TEST(BruteOperand, LoadInefficiencyOfPublishedLayers) {
  struct Case {
    ConvLayer layer;
    double inefficiency;
  };
  const std::vector<Case> cases = {{fakes::Layer(4, 16, 14, 14, 64, 3, 1, 1), 1.199},
                                   {fakes::Layer(4, 16, 28, 28, 64, 1, 1, 0), 1.000},
                                   {fakes::Layer(16, 16, 7, 7, 64, 1, 1, 0), 1.356},
                                   {fakes::Layer(4, 16, 56, 56, 64, 1, 2, 0), 2.000}};
  for (const auto& [layer, inefficiency] : cases) {
    const auto gemm = GemmOf(layer);
    const Brute brute{layer};
    const auto a = BruteOperand([&](int64_t m, int64_t k) { return brute.A(m, k); }, gemm.m, gemm.k,
                                128, 8, gemm.k, gemm.a.lanes_along_columns, 32);
    EXPECT_NEAR(32 * a.warp / (4.0 * static_cast<double>(gemm.m * gemm.k)), inefficiency, 0.03);
  }
}

// Each tile touches 10 sectors of its own.
double TenEach(const IndexRanges& tiles) {
  double sum = 0;
  for (const auto& [begin, end] : tiles) sum += 10.0 * static_cast<double>(end - begin);
  return sum;
}
double NoSectors(const IndexRanges&) { return 0; }

TEST(CopiesInL2, AreOneAtHomeAndOneWhereAReaderIs) {
  EXPECT_EQ(CopiesInL2(1, 1), 1);
  EXPECT_EQ(CopiesInL2(1, 100), 1);
  EXPECT_EQ(CopiesInL2(2, 1), 1.5);
  EXPECT_EQ(CopiesInL2(2, 2), 1.75);
  EXPECT_NEAR(CopiesInL2(2, 100), 2, 1e-9);
  EXPECT_NEAR(CopiesInL2(4, 1), 1.75, 1e-12);  // 3 of 4 are not at home
}

// Measured by gpu-benches: the rate of L2 falls beyond 28160 KiB on A100, 36864 KiB on H100.
TEST(CopiesInL2, ExplainTheCapacityThatIsMeasured) {
  const auto usable = [](const char* gpu) {
    const auto spec = FindGpu(gpu);
    return spec.l2_bytes / 1024 / CopiesInL2(spec.l2_partitions, 1);
  };
  EXPECT_NEAR(usable("a100") / 28160, 1, 0.04);
  EXPECT_NEAR(usable("h100") / 36864, 1, 0.08);
  EXPECT_EQ(usable("v100"), 6144);
}

TEST(WalkWaves, TwoPartitionsHoldLess) {
  // Rows are read once per column: 80 sectors take 1.5 copies after the first column.
  EXPECT_EQ(WalkWaves({8, 3, 4, 120, 2}, TenEach, NoSectors).a, 80);
  EXPECT_EQ(WalkWaves({8, 3, 4, 119, 2}, TenEach, NoSectors).a, 240);
}

TEST(GemmOf, RefusesWhatCannotBe) {
  EXPECT_THROW(GemmOf(fakes::Layer(1, 1, 2, 2, 1, 3, 1, 0)), BadInput);
  EXPECT_THROW(GemmOf(fakes::Layer(0, 1, 2, 2, 1, 1, 1, 0)), BadInput);
  auto layer = fakes::Layer(1, 3, 2, 2, 4, 1, 1, 0);
  layer.shape.groups = 2;
  EXPECT_THROW(GemmOf(layer), BadInput);
  layer.shape.groups = 1;
  layer.element_bytes = 9;
  EXPECT_THROW(GemmOf(layer), BadInput);
}

}  // namespace
}  // namespace dlroof::delta
