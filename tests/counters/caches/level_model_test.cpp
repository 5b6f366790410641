#include "counters/caches/level_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <list>
#include <numeric>
#include <unordered_map>

#include "bench/conv2d/models.h"
#include "bench/library_rules/onednn_blocking.h"
#include "bench/lstm/case.h"
#include "bench/lstm/models.h"
#include "counters/base/files.h"
#include "counters/cpu/core_caches.h"

namespace dlroof::caches {
namespace {

// --- The reference runs the nest element by element through an LRU cache ---

class LruCache {
 public:
  explicit LruCache(std::size_t elements) : elements_(elements) {}

  // Returns whether the element had to be fetched.
  bool Fetch(long element) {
    const auto found = where_.find(element);
    if (found != where_.end()) {
      used_.splice(used_.begin(), used_, found->second);
      return false;
    }
    used_.push_front(element);
    where_[element] = used_.begin();
    if (used_.size() > elements_) where_.erase(used_.back()), used_.pop_back();
    return true;
  }

 private:
  std::size_t elements_;
  std::list<long> used_;  // latest first
  std::unordered_map<long, std::list<long>::iterator> where_;
};

// Ranges [first, end) of each dimension inside some loops.
struct Tile {
  std::vector<long> first, end;
};

// Elements of one axis of a tensor that a tile touches.
std::pair<long, long> RangeOf(const NestAxis& axis, const Tile& tile) {
  double first = 0, last = 0;
  for (const NestTerm& term : axis.terms) {
    const auto d = static_cast<std::size_t>(term.dimension);
    first += term.scale * static_cast<double>(tile.first[d]);
    last += term.scale * static_cast<double>(tile.end[d] - 1);
  }
  return {std::lround(first), std::min(std::lround(last), std::lround(axis.limit) - 1)};
}

class Enumeration {
 public:
  Enumeration(const ReuseNest& nest, std::size_t elements) : nest_(nest), cache_(elements) {
    fetched_.resize(nest.tensors.size());
  }

  std::vector<double> Run() {
    std::ranges::fill(fetched_, 0);
    Tile all;
    for (const double size : nest_.sizes) {
      all.first.push_back(0);
      all.end.push_back(std::lround(size));
    }
    Walk(0, all);
    return fetched_;
  }

 private:
  void Walk(std::size_t loop, const Tile& tile) {
    if (loop == nest_.loops.size()) return TouchAll(tile);
    const auto d = static_cast<std::size_t>(nest_.loops[loop].dimension);
    const long step = std::lround(nest_.loops[loop].step);
    for (long at = tile.first[d]; at < tile.end[d]; at += step) {
      Tile inner = tile;
      inner.first[d] = at;
      inner.end[d] = std::min(at + step, tile.end[d]);
      Walk(loop + 1, inner);
    }
  }

  void TouchAll(const Tile& tile) {
    for (std::size_t t = 0; t < nest_.tensors.size(); ++t) Touch(t, 0, 0, tile);
  }

  void Touch(std::size_t tensor, std::size_t axis, long element, const Tile& tile) {
    const auto& axes = nest_.tensors[tensor].axes;
    if (axis == axes.size()) {
      const long own = static_cast<long>(tensor) * 100'000'000 + element;
      fetched_[tensor] += cache_.Fetch(own) ? 1 : 0;
      return;
    }
    const auto [first, last] = RangeOf(axes[axis], tile);
    for (long i = first; i <= last; ++i)
      Touch(tensor, axis + 1, element * std::lround(axes[axis].limit) + i, tile);
  }

  const ReuseNest& nest_;
  LruCache cache_;
  std::vector<double> fetched_;
};

NestAxis Axis(int dimension, double size) { return {{{dimension, 1}}, size}; }

// C[m][n] += A[m][k] B[k][n], elements of one byte, by blocks: n outermost, then m, then k.
ReuseNest Product(double m, double n, double k, double block_m, double block_n) {
  ReuseNest nest{.sizes = {m, n, k}, .loops = {{1, block_n}, {0, block_m}, {2, 1}}};
  nest.tensors = {{"A", 1, {Axis(0, m), Axis(2, k)}},
                  {"weights", 1, {Axis(2, k), Axis(1, n)}},
                  {"C", 1, {Axis(0, m), Axis(1, n)}}};
  return nest;
}

// A convolution: rows p of an image, 3 rows of taps, c channels, k filters by blocks of 4.
ReuseNest Convolution(double p, double q, double c, double k) {
  ReuseNest nest;
  nest.sizes = {p, q, c, k, 3, 3};
  nest.loops = {{0, 1}, {3, 4}, {1, 4}, {4, 1}, {5, 1}, {2, 1}};
  nest.tensors = {{"source", 1, {{{{0, 1}, {4, 1}}, p + 2}, {{{1, 1}, {5, 1}}, q + 2}, Axis(2, c)}},
                  {"weights", 1, {Axis(3, k), Axis(2, c), Axis(4, 3), Axis(5, 3)}},
                  {"destination", 1, {Axis(0, p), Axis(1, q), Axis(3, k)}}};
  return nest;
}

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

std::vector<double> Fetched(const ReuseNest& nest, double bytes,
                            CacheStart start = CacheStart::kEmpty) {
  return FetchedBytes(nest, {bytes, 0}, start);
}

TEST(ReuseNest, AProductByHand) {
  // A 8 x 4 in two blocks of rows, B 4 x 6 in three blocks of columns, C 8 x 6.
  const ReuseNest nest = Product(8, 6, 4, 4, 2);
  EXPECT_EQ(Footprint(nest, 0), 32 + 24 + 48);
  EXPECT_EQ(Footprint(nest, 1), 32 + 8 + 16);  // one block of columns
  EXPECT_EQ(Footprint(nest, 2), 16 + 8 + 8);   // and one of rows
  // Everything fits and is fetched once, or not at all after the same product.
  EXPECT_THAT(Fetched(nest, 104), testing::ElementsAre(32, 24, 48));
  EXPECT_THAT(Fetched(nest, 104, CacheStart::kSameNestBefore), testing::Each(0));
  // A block of columns fits: A stays from one to the next.
  EXPECT_THAT(Fetched(nest, 56), testing::ElementsAre(32, 24, 48));
  EXPECT_THAT(Fetched(nest, 56, CacheStart::kSameNestBefore), testing::ElementsAre(0, 24, 48));
  // Only one block of both fits: A is fetched for each of the three blocks of columns.
  EXPECT_THAT(Fetched(nest, 55), testing::ElementsAre(96, 24, 48));
}

// Not at the steps, where partially used data of the previous iteration counts too.
TEST(ReuseNest, ProductsAgreeWithAnEnumeratedLruCache) {
  for (const double block_n : {2.0, 4.0})
    for (const std::size_t cache : {40, 90, 200, 600, 2000}) {
      const ReuseNest nest = Product(24, 16, 12, 6, block_n);
      const auto exact = Enumeration(nest, cache).Run();
      const auto modelled = Fetched(nest, static_cast<double>(cache));
      EXPECT_NEAR(Sum(modelled) / Sum(exact), 1, 0.12) << cache << ' ' << block_n;
    }
}

TEST(ReuseNest, AfterTheSameProductAgreesToo) {
  for (const std::size_t cache : {90, 200, 2000}) {
    const ReuseNest nest = Product(24, 16, 12, 6, 4);
    Enumeration twice(nest, cache);
    twice.Run();
    const auto exact = twice.Run();
    const auto modelled = Fetched(nest, static_cast<double>(cache), CacheStart::kSameNestBefore);
    EXPECT_NEAR(Sum(modelled), Sum(exact), 0.12 * Sum(exact) + 1) << cache;
  }
}

TEST(ReuseNest, ConvolutionsAgreeWithAnEnumeratedLruCache) {
  const ReuseNest nest = Convolution(12, 12, 8, 16);
  for (const std::size_t cache : {60, 500, 1200, 2200, 6000}) {
    const auto exact = Enumeration(nest, cache).Run();
    const auto modelled = Fetched(nest, static_cast<double>(cache));
    EXPECT_NEAR(Sum(modelled) / Sum(exact), 1, 0.2) << cache;
  }
}

TEST(ReuseNest, MoreCacheNeverFetchesMore) {
  const ReuseNest nest = Convolution(12, 12, 8, 16);
  for (const int ways : {0, 8}) {
    double before = INFINITY;
    for (double cache = 32; cache < 10000; cache *= 1.1) {
      const double fetched = Sum(FetchedBytes(nest, {cache, ways}, CacheStart::kEmpty));
      EXPECT_LE(fetched, before * (1 + 1e-12)) << cache;
      EXPECT_GE(fetched, Footprint(nest, 0) * (1 - 1e-12)) << cache;
      before = fetched;
    }
  }
}

TEST(ReuseNest, WaysMakeTheStepARamp) {
  const ReuseNest nest = Product(8, 6, 4, 4, 2);
  const auto of = [&](double bytes) {
    return FetchedBytes(nest, {bytes, 16}, CacheStart::kEmpty)[0];
  };
  // The body has 56 byte, and the next block of columns replaces 24 of them (weights and C). With a
  // quarter of those it fits completely from 62 / (1 - 1/32) on and not at all up to 62 / (1 +
  // 1/16).
  EXPECT_DOUBLE_EQ(of(62 / (1 - 1.0 / 32)), 32);
  EXPECT_DOUBLE_EQ(of(62 / (1 + 1.0 / 16)), 96);
  EXPECT_GT(of(62), 32);
  EXPECT_LT(of(62), 96);
}

TEST(ReuseNest, ASmallerLastPanelMayStayWhereTheOthersDoNot) {
  // Sums over 20 and then 4 of 24 inputs, for 32 rows each: 80 weights do not fit, 16 do.
  ReuseNest nest = Product(32, 4, 24, 1, 4);
  nest.loops = {{2, 20, true}, {0, 1}, {2, 1}};
  const auto weights = [&] { return Fetched(nest, 70)[1]; };
  EXPECT_EQ(Enumeration(nest, 70).Run()[1], 32 * 80 + 16);
  EXPECT_EQ(weights(), 32 * 80 + 16);
  nest.loops[0].last_apart = false;
  EXPECT_EQ(weights(), 32 * 96);
}

TEST(ReuseNest, ThreadsShareTheOuterLoops) {
  // Three blocks of columns for two threads: one and a half each.
  EXPECT_EQ(SharedBy(Product(8, 6, 4, 4, 2), 2).sizes[1], 3);
  // One block of columns: the rows are shared.
  const ReuseNest rows = SharedBy(Product(8, 2, 4, 4, 2), 2);
  EXPECT_EQ(rows.sizes[1], 2);
  EXPECT_EQ(rows.sizes[0], 4);
}

TEST(ReuseNest, WhatLiesOutsideAnImageIsNotFetchedPerRow) {
  ReuseNest nest = Convolution(12, 12, 8, 16);
  const double all = Fetched(nest, 60)[1];
  nest.tensors[1].partial_in = 0;
  nest.tensors[1].partial = 0.75;
  EXPECT_DOUBLE_EQ(Fetched(nest, 60)[1], 0.75 * all);
}

}  // namespace
namespace {

const CacheShares kAll = {{Level::kL1, {32768, 8}}, {Level::kL2, {1048576, 16}}};
constexpr StartOfCall kCold = {false, false};
constexpr StartOfCall kWarm = {true, true};

LevelModel ConvModel(const std::string& problem, const std::string& implementation,
                     ProductDirection direction = ProductDirection::kForward,
                     const std::string& isa = "avx2") {
  conv2d::Conv2dCase one;
  one.problem = conv2d::ParseConv2d(problem);
  one.direction = direction;
  return conv2d::Conv2dLevels(one, implementation, isa);
}

LevelModel LstmModel(const std::string& problem, const std::string& isa = "avx2") {
  return lstm::LstmLevels(lstm::ParseLstmProblem(problem), lstm::LstmDirection::kForwardInference,
                          lstm::ElementBytes(lstm::LstmTypeOf("f32")), "brgemm:" + isa, isa);
}

TEST(RowBlock, IsWhatTheRegistersLeave) {
  const auto avx2 = library_rules::VectorUnitOf("brgconv:avx2", "avx512_core");
  EXPECT_EQ(avx2.registers, 16);
  EXPECT_EQ(library_rules::MostRows(avx2, 2), 6);  // 16 - 2 vectors - 1 element, by 2
  EXPECT_EQ(library_rules::MostRows({16, 32}, 4), 6);
  EXPECT_EQ(library_rules::RowBlock(avx2, 2, 28), 6);
  EXPECT_EQ(library_rules::RowBlock(avx2, 2, 14), 5);  // 15 rows for 14, not 18
  EXPECT_EQ(library_rules::RowBlock(avx2, 2, 1), 1);
  EXPECT_EQ(library_rules::VectorUnitOf("brgemm", "avx512_core_vnni").lanes, 16);
}

TEST(Conv2dLevels, AColdConvolutionThatFitsTheL2FetchesItsTensorsOnce) {
  // 64x28x28, 64 filters of 3x3: 200704 + 147456 + 200704 byte.
  const auto bytes = LevelBytes(ConvModel("n1c64h28w28k64r3s3_p1", "brgconv:avx2"), kAll, 1, kCold);
  EXPECT_DOUBLE_EQ(bytes.at(Level::kL3), 548864);
  // Weights of a block of 16 filters (36864 byte) do not fit the L1 of 32 KiB: all are read for
  // each of 28 rows x ceil(28 / 6) blocks, 20.6 MB, and the source for each block of filters.
  EXPECT_GT(bytes.at(Level::kL2), 20.6e6);
  EXPECT_LT(bytes.at(Level::kL2), 24e6);
  // Registers reuse 16 filters and 6 positions: 57.8 M products x (4/16 + 4/6) byte, without taps
  // in the padding.
  EXPECT_NEAR(bytes.at(Level::kL1), 57.8e6 / 2 * (4.0 / 16 + 4.0 / 6) * 82 / 84, 0.03 * 26e6);
}

TEST(Conv2dLevels, AWarmConvolutionThatFitsTheL2FetchesNothingFromTheL3) {
  const auto model = ConvModel("n1c64h28w28k64r3s3_p1", "brgconv:avx2");
  EXPECT_EQ(LevelBytes(model, kAll, 1, kWarm).at(Level::kL3), 0);
  // Only the weights had left the caches.
  EXPECT_DOUBLE_EQ(LevelBytes(model, kAll, 1, {false, true}).at(Level::kL3), 147456);
}

TEST(Conv2dLevels, ThreadsWithCachesOfTheirOwnReadTheWeightsEach) {
  const auto model = ConvModel("n1c64h28w28k64r3s3_p1", "brgconv:avx2");
  const double one = LevelBytes(model, kAll, 1, kCold).at(Level::kL3);
  const double two = LevelBytes(model, kAll, 2, kCold).at(Level::kL3);
  // The weights once more, and the rows around each half: 2 more for each, of 28 with 64 channels.
  EXPECT_NEAR(two, one + 147456 + 4 * 28 * 64 * 4, 1);
}

// Cold, with an L2 that holds all: every tensor comes once.
TEST(Conv2dLevels, AWeightGradientFetchesEachTensorOnceWhereAllFit) {
  const double weights = 9 * 64 * 32 * 4, image = 28 * 28 * 32 * 4, output = 14 * 14 * 64 * 4;
  const auto model =
      ConvModel("n1c32h28w28k64r3s3_s2p1", "jit:avx2", ProductDirection::kBackwardWeights);
  const auto bytes = LevelBytes(model, kAll, 1, kCold);
  EXPECT_NEAR(bytes.at(Level::kL3), weights + image + output, 0.05 * (image + output));
  // Each of 14 rows of the output adds to every block of weights, 73728 byte, which do not all fit
  // the L1: more than once and less than once per row.
  EXPECT_GT(bytes.at(Level::kL2), weights + image + output);
  EXPECT_LT(bytes.at(Level::kL2), 14 * weights + 8 * image + 4 * output);
}

TEST(Conv2dLevels, LoadsAreThoseThatTheRegistersDoNotSpare) {
  // 57.8 M products, 8 a vector: one load of the source for 2 columns, one of weights for 6 rows.
  const auto forward = ConvModel("n1c64h28w28k64r3s3_p1", "brgconv:avx2");
  EXPECT_NEAR(forward.core_loads.value(), 57.8e6 / 2 / 8 * (1 / 2.0 + 1 / 6.0) * 82 / 84, 0.02e6);
  EXPECT_EQ(forward.vector_bytes, 32);
  const auto weights = ConvModel("n1c64h28w28k64r3s3_p1", "jit:avx512_core",
                                 ProductDirection::kBackwardWeights, "avx512_core");
  // One element of the source each, one vector of the gradient for 8; the weights of each tap are
  // read and stored for each of 28 rows.
  const double vectors = 57.8e6 / 2 / 16 * 82 / 84;
  EXPECT_NEAR(weights.core_loads.value(), vectors * (1 + 1 / 8.0 + 2 / 28.0), 0.01 * vectors);
  EXPECT_EQ(weights.vector_bytes, 64);
}

TEST(Conv2dLevels, WhatIsNotModelledSaysSo) {
  const auto model = ConvModel("n1c64h28w28k64r3s3_p1", "brgconv:avx512_core",
                               ProductDirection::kBackwardWeights, "avx512_core");
  EXPECT_THAT(model.reason.value().text, testing::HasSubstr("bwd_weights"));
  EXPECT_THAT(LevelBytes(model, kAll, 1, kCold), testing::IsEmpty());
  EXPECT_TRUE(ConvModel("n1c64h28w28k64r3s3_p1", "ref:any").reason);
}

TEST(LstmLevels, WeightsBeyondTheL2AreReadEveryTimeStep) {
  // 2 x 512 x 2048 weights of 4 byte are 8.39 MB, read in each of 2 steps.
  const auto bytes = LevelBytes(LstmModel("t2n8i512h512"), kAll, 1, kWarm);
  EXPECT_GT(bytes.at(Level::kL3), 2 * 8.388608e6);
  EXPECT_LT(bytes.at(Level::kL3), 2 * 8.388608e6 * 1.05);
}

TEST(LstmLevels, WeightsThatFitTheL2AreReadOnceOrNotAtAll) {
  // 2 x 128 x 512 of 4 byte.
  const auto model = LstmModel("t8n16i128h128");
  EXPECT_LT(LevelBytes(model, kAll, 1, kCold).at(Level::kL3), 1.6 * 524288);
  EXPECT_EQ(LevelBytes(model, kAll, 1, kWarm).at(Level::kL3), 0);
}

// 16 steps of 16 samples: inputs 32 768 byte, weights 98 304, gates' scratch 16 384, cell states
// 4 096, and 65 536 of hidden states, which an output of their type already is.
TEST(LstmLevels, AnOutputIsTheNextStepsStateUnlessItsTypeDiffers) {
  const double bytes = LevelBytes(LstmModel("t16n16i32h64"), kAll, 1, kCold).at(Level::kL3);
  EXPECT_NEAR(bytes / (32768 + 98304 + 65536 + 16384 + 4096), 1, 0.03);
  auto wider = lstm::ElementBytes(lstm::LstmTypeOf("f32"));
  wider.output = 8;
  const auto model =
      lstm::LstmLevels(lstm::ParseLstmProblem("t16n16i32h64"),
                       lstm::LstmDirection::kForwardInference, wider, "brgemm:avx2", "avx2");
  EXPECT_NEAR(LevelBytes(model, kAll, 1, kCold).at(Level::kL3) - bytes, 2 * 65536, 1);
}

TEST(LstmLevels, OneSampleMakesTheInputsProductForAllStepsAtOnce) {
  // Weights of the input once, of the state in each of 4 steps: 5 x 4.19 MB, not 8.
  const double bytes = LevelBytes(LstmModel("t4n1i512h512"), kAll, 1, kCold).at(Level::kL3);
  EXPECT_NEAR(bytes / (5 * 4.194304e6), 1, 0.02);
}

TEST(LevelBytes, NoLevelSeesMoreThanTheOneBeforeIt) {
  for (const char* problem : {"n1c64h28w28k64r3s3_p1", "n4c32h28w28k32r3s3_p1",
                              "n1c512h14w14k256r1s1", "n1c256h7w7k256r3s3_p1"})
    for (const char* implementation : {"brgconv:avx2", "brgconv:avx512_core", "jit:avx2"})
      for (const int threads : {1, 2, 4}) {
        const auto bytes = LevelBytes(ConvModel(problem, implementation), kAll, threads, kCold);
        EXPECT_LE(bytes.at(Level::kL2), bytes.at(Level::kL1));
        EXPECT_LE(bytes.at(Level::kL3), bytes.at(Level::kL2));
      }
}

TEST(LevelBytes, AnUnknownCacheLeavesTheLevelBehindItUnknown) {
  const auto bytes = LevelBytes(LstmModel("t2n8i512h512"), {{Level::kL1, {32768, 8}}}, 1, kCold);
  EXPECT_EQ(bytes.count(Level::kL2), 1);
  EXPECT_EQ(bytes.count(Level::kL3), 0);
}

TEST(SharesPerThread, DividesACacheAmongThoseThatUseIt) {
  cpu::Topology topology;
  for (const int cpu : {0, 1}) {
    topology.cache_of_cpu[Level::kL1][cpu] = {cpu, 32768};
    topology.cache_of_cpu[Level::kL3][cpu] = {0, 4e6};
  }
  const auto shares = SharesPerThread(topology, {0, 1});
  EXPECT_EQ(shares.at(Level::kL1).bytes, 32768);
  EXPECT_EQ(shares.at(Level::kL3).bytes, 2e6);
  EXPECT_EQ(shares.count(Level::kL2), 0);
}

TEST(CacheWays, AreThoseOfTheDataCacheOfTheLevel) {
  const TemporaryFolder temporary;
  const std::filesystem::path folder = temporary / "cpus";
  const auto write = [&](const char* index, const char* level, const char* type, const char* ways) {
    const auto cache = folder / "cpu3" / "cache" / index;
    std::filesystem::create_directories(cache);
    std::ofstream(cache / "level") << level;
    std::ofstream(cache / "type") << type;
    std::ofstream(cache / "ways_of_associativity") << ways;
  };
  write("index0", "1", "Instruction", "4");
  write("index1", "1", "Data", "12");
  write("index2", "2", "Unified", "16");
  EXPECT_EQ(cpu::CacheWays(Level::kL1, 3, folder), 12);
  EXPECT_EQ(cpu::CacheWays(Level::kL2, 3, folder), 16);
  EXPECT_EQ(cpu::CacheWays(Level::kL3, 3, folder), std::nullopt);
  EXPECT_EQ(cpu::CacheWays(Level::kL1, 0, folder), std::nullopt);
}

// The loop nests describe vector registers; kernels that work on tiles have other blocks and loads.
TEST(LevelModels, AreAbsentForAmxKernels) {
  const auto reason = [](const std::string& implementation) {
    return "the kernel uses AMX tiles (" + implementation +
           "); its L1, L2 and L3 traffic is not modelled";
  };
  for (const std::string isa : {"avx512_core_amx", "avx512_core_amx_bf16", "avx512_core_amx_fp16",
                                "avx10_1_512_amx", "avx10_1_512_amx_fp16"}) {
    for (const std::string kernel : {"brgconv:", "brgconv_1x1:", "jit:", "jit_1x1:"})
      for (const auto direction : {ProductDirection::kForward, ProductDirection::kBackwardData,
                                   ProductDirection::kBackwardWeights}) {
        const auto conv = ConvModel("n1c64h28w28k64r3s3_p1", kernel + isa, direction, isa);
        EXPECT_TRUE(conv.nests.empty());
        EXPECT_EQ(conv.core_loads, std::nullopt);
        EXPECT_EQ(conv.reason.value().text, reason(kernel + isa));
      }
    const auto lstm = LstmModel("t16n16i32h64", isa);
    EXPECT_TRUE(lstm.nests.empty());
    EXPECT_EQ(lstm.reason.value().text, reason("brgemm:" + isa));
    // Several primitives, some of them on vectors.
    const std::string mixed = "brgemm:avx512_core + brgemm:" + isa;
    EXPECT_EQ(lstm::LstmLevels(lstm::ParseLstmProblem("t16n16i32h64"),
                               lstm::LstmDirection::kForwardInference,
                               lstm::ElementBytes(lstm::LstmTypeOf("bf16")), mixed, isa)
                  .reason.value()
                  .text,
              reason(mixed));
  }
}

// On a CPU with AMX, f32 kernels still use vectors: the implementation's name decides.
TEST(LevelModels, OfVectorKernelsNeedNoCpuWithoutAmx) {
  const auto conv = ConvModel("n1c64h28w28k64r3s3_p1", "brgconv:avx512_core",
                              ProductDirection::kForward, "avx512_core_amx");
  EXPECT_FALSE(conv.nests.empty());
  EXPECT_EQ(conv.reason, std::nullopt);
}

TEST(VectorUnit, OfAvx10HasTheRegistersOfAvx512) {
  EXPECT_EQ(library_rules::VectorUnitOf("brgconv:avx10_1_512", "").lanes, 16);
  EXPECT_EQ(library_rules::VectorUnitOf("brgconv:avx10_1_512", "").registers, 32);
}

}  // namespace
}  // namespace dlroof::caches
