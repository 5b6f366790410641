#include "counters/delta/waves.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <set>

#include "tests/fakes/delta_layers.h"

namespace dlroof {
namespace {

// Each tile touches 10 sectors of its own.
double TenEach(const IndexRanges& tiles) {
  double sum = 0;
  for (const auto& [begin, end] : tiles) sum += 10.0 * static_cast<double>(end - begin);
  return sum;
}
double NoSectors(const IndexRanges&) { return 0; }

TEST(WalkWaves, AFullChipReadsAOncePerColumn) {
  // 8 rows x 3 columns of tiles, 4 CTAs a wave, nothing stays: 3 x 80 sectors in 6 waves.
  const auto sum = WalkWaves({8, 3, 4, 0}, TenEach, NoSectors);
  EXPECT_EQ(sum.a, 240);
  EXPECT_EQ(sum.waves, 6);
}

TEST(WalkWaves, AWaveSharesBetweenItsColumns) {
  // 8 CTAs a wave of 4 rows: two columns at once read A once: 2 waves x 40.
  EXPECT_EQ(WalkWaves({4, 4, 8, 0}, TenEach, NoSectors).a, 80);
  // 6 a wave: ids 0-5 touch all rows, 6-11 rows 2 3 0 1, 12-15 all: 3 x 40.
  EXPECT_EQ(WalkWaves({4, 4, 6, 0}, TenEach, NoSectors).a, 120);
}

TEST(WalkWaves, WhatFitsIsReadOnce) {
  EXPECT_EQ(WalkWaves({8, 3, 4, 80}, TenEach, NoSectors).a, 80);
  // 79 sectors hold one wave of 40 only: the next column finds the second half gone.
  EXPECT_EQ(WalkWaves({8, 3, 4, 79}, TenEach, NoSectors).a, 240);
}

using Sectors = std::set<std::pair<int, int64_t>>;

Sectors FilterOf(const Sectors& sectors) {
  Sectors filter;
  for (const auto& sector : sectors)
    if (sector.first == 1) filter.insert(sector);
  return filter;
}

// Sectors wave by wave: a wave finds the newest earlier waves that fit together, and the filter
// tiles of the last one where they take half of the cache at most.
double BruteReads(const ConvGemm& gemm, const CtaTile& tile, int64_t wave, double cache) {
  const int64_t nm = (gemm.m + tile.m - 1) / tile.m, nn = (gemm.n + tile.n - 1) / tile.n;
  const auto add = [&](const Operand& matrix, int which, int64_t begin, int64_t end, Sectors& to) {
    for (int64_t r = begin; r < std::min(end, Size(matrix.rows)); ++r)
      for (int64_t k = 0; k < gemm.k; ++k)
        if (const auto at = Address(matrix, At(matrix.rows, r), At(matrix.columns, k));
            at != kNowhere)
          to.insert({which, at / 32});
  };
  std::deque<Sectors> earlier;  // newest first
  double reads = 0;
  for (int64_t id = 0; id < nm * nn; id += wave) {
    Sectors now;
    for (int64_t cta = id; cta < std::min(nm * nn, id + wave); ++cta) {
      add(gemm.a, 0, cta % nm * tile.m, (cta % nm + 1) * tile.m, now);
      add(gemm.b, 1, cta / nm * tile.n, (cta / nm + 1) * tile.n, now);
    }
    Sectors kept;
    for (const auto& one : earlier) {
      Sectors more = kept;
      more.insert(one.begin(), one.end());
      if (static_cast<double>(more.size()) * 32 > cache) break;
      kept = more;
    }
    Sectors b = earlier.empty() ? Sectors{} : FilterOf(earlier.front());
    Sectors both = FilterOf(now);
    both.insert(b.begin(), b.end());
    if (static_cast<double>(both.size()) * 32 <= cache / 2) kept.insert(b.begin(), b.end());
    for (const auto& sector : now) reads += kept.count(sector) == 0 ? 1 : 0;
    earlier.push_front(now);
  }
  return reads * 32;
}

TEST(EnumerateDram, IsTheBruteForceCacheOfWaves) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 40; ++i) {
    auto layer = Layer(Pick(random, {1, 3}), Pick(random, {4, 9}), Pick(random, {7, 12}),
                       Pick(random, {8, 11}), Pick(random, {8, 24}), Pick(random, {1, 3}),
                       Pick(random, {1, 2}), Pick(random, {0, 1}));
    layer.direction = static_cast<ProductDirection>(random() % 2);
    layer.layout = static_cast<TensorLayout>(random() % 2);
    const auto gemm = GemmOf(layer);
    const CtaTile tile = {Pick(random, {16, 32}), 8, 8};
    const int64_t wave = Pick(random, {2, 5, 8});
    const auto cache = static_cast<double>(Pick(random, {0, 2000, 6000, 20000}));
    const auto got = EnumerateDram(gemm, tile, 4, 32, {cache, static_cast<double>(wave)});
    EXPECT_EQ(got.a + got.b, BruteReads(gemm, tile, wave, cache))
        << "m " << gemm.m << " k " << gemm.k;
    EXPECT_EQ(got.c, 4.0 * static_cast<double>(gemm.m * gemm.n));
  }
}

TEST(EnumerateDram, PartialSumsAreWrittenOncePerSlice) {
  auto layer = Layer(8, 4, 8, 8, 8, 1, 1, 0);
  layer.direction = ProductDirection::kBackwardWeights;
  const auto gemm = GemmOf(layer);  // m 8, n 4, k 512
  const auto bytes = EnumerateDram(gemm, {16, 16, 8, 4}, 2, 32, {1e6, 100});
  EXPECT_EQ(bytes.c, 4 * 4 * 8 * 4);
  // Each slice reads its images' part of dOutput and input once.
  EXPECT_EQ(bytes.a, 8 * 8 * 64 * 4);
  EXPECT_EQ(bytes.b, 8 * 4 * 64 * 4);
}

}  // namespace
}  // namespace dlroof
