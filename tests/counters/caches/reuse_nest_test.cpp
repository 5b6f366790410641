#include "counters/caches/reuse_nest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <list>
#include <numeric>
#include <unordered_map>

namespace dlroof::caches {
namespace {

// --- The reference: the nest is run element by element through an LRU cache ---

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
  // All fits: everything once, or not at all after the same product.
  EXPECT_THAT(Fetched(nest, 104), testing::ElementsAre(32, 24, 48));
  EXPECT_THAT(Fetched(nest, 104, CacheStart::kSameNestBefore), testing::Each(0));
  // A block of columns fits: A stays from one to the next.
  EXPECT_THAT(Fetched(nest, 56), testing::ElementsAre(32, 24, 48));
  EXPECT_THAT(Fetched(nest, 56, CacheStart::kSameNestBefore), testing::ElementsAre(0, 24, 48));
  // Only one block of both fits: A is fetched for each of the three blocks of columns.
  EXPECT_THAT(Fetched(nest, 55), testing::ElementsAre(96, 24, 48));
}

// Away from the steps: right at one, what is half used from the iteration before counts too.
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
  // The body of 56 byte, of which the next block of columns replaces 24 (weights and C): with a
  // quarter of those it is wholly in from 62 / (1 - 1/32), wholly out at 62 / (1 + 1/16).
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
}  // namespace dlroof::caches
