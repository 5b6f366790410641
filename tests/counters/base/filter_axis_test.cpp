#include <gtest/gtest.h>

#include <array>
#include <random>

#include "counters/base/work.h"

namespace dlroof {
namespace {

// Visits every pair of an output and a tap.
int64_t PairsByLoops(const FilterAxis& axis) {
  int64_t pairs = 0;
  for (int64_t output = 0; output < axis.outputs; ++output)
    for (int64_t tap = 0; tap < axis.taps; ++tap) {
      const int64_t element = output * axis.stride + tap * axis.dilation - axis.pad_begin;
      if (element >= 0 && element < axis.source) ++pairs;
    }
  return pairs;
}

class Sizes {
 public:
  int64_t Between(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  FilterAxis UpTo(int64_t most) {
    return {.source = Between(1, most),
            .outputs = Between(1, most),
            .taps = Between(1, most),
            .stride = Between(1, 5),
            .dilation = Between(1, 9),
            .pad_begin = Between(-3, 2 * most)};
  }

 private:
  std::mt19937_64 random_{20261127};
};

void ExpectAsByLoops(const FilterAxis& axis) {
  ASSERT_EQ(PairsInside(axis), PairsByLoops(axis))
      << "source " << axis.source << ", outputs " << axis.outputs << ", taps " << axis.taps
      << ", stride " << axis.stride << ", dilation " << axis.dilation << ", padding "
      << axis.pad_begin;
}

TEST(PairsInside, IsWhatLoopsCount) {
  Sizes sizes;
  for (int i = 0; i < 20000; ++i) ExpectAsByLoops(sizes.UpTo(i % 2 == 0 ? 5 : 30));
  for (int i = 0; i < 50; ++i) ExpectAsByLoops(sizes.UpTo(500));
}

TEST(PairsInside, OfDeepLabsRates) {
  // 24 pixels: the middle tap is inside for all outputs, the others for 24 - rate, from 24 for
  // none.
  const auto with_rate = [](int64_t rate) { return FilterAxis{24, 24, 3, 1, rate, rate}; };
  EXPECT_EQ(PairsInside(with_rate(1)), 24 + 2 * 23);
  EXPECT_EQ(PairsInside(with_rate(12)), 24 + 2 * 12);
  EXPECT_EQ(PairsInside(with_rate(24)), 24);
  EXPECT_EQ(PairsInside(with_rate(36)), 24);
}

TEST(PairsInside, NeedsNoLoopOverLargeSizes) {
  constexpr int64_t kMax = int64_t{1} << 30;
  // Every tap has one output less on its side: kMax outputs and kMax taps before the end.
  EXPECT_EQ(PairsInside({.source = kMax, .outputs = kMax, .taps = kMax}), kMax * (kMax + 1) / 2);
  EXPECT_EQ(PairsInside({.source = 1, .outputs = kMax, .taps = kMax, .stride = kMax}), 1);
  // Two outputs of half the taps each: tap t of output o reads o * kMax + t.
  EXPECT_EQ(PairsInside({.source = kMax + kMax / 2, .outputs = 2, .taps = kMax, .stride = kMax}),
            kMax + kMax / 2);
}

TEST(PairsInside, OfNothingIsNone) {
  EXPECT_EQ(PairsInside({.source = 0, .outputs = 3, .taps = 3}), 0);
  EXPECT_EQ(PairsInside({.source = 3, .outputs = 0, .taps = 3}), 0);
  EXPECT_EQ(PairsInside({.source = 3, .outputs = 3, .taps = 0}), 0);
}

TEST(UsefulPairs, LackThePaddingInEveryDimension) {
  const FilterAxis dense = {14, 14, 3, 1, 1, 1}, dilated = {14, 14, 3, 1, 2, 2};
  // 14 outputs with 3 taps each; inside lacks 1 at each end, dilated 2.
  EXPECT_EQ(UsefulPairs(std::array{dense, dense}), 40 * 40);
  EXPECT_EQ(UsefulPairs(std::array{dilated, dilated, dense}), 38 * 38 * 40);
}

TEST(UsefulPairs, OfOneTapLackOutputsOnThePadding) {
  const FilterAxis axis = {5, 7, 1, 1, 4, 1};
  EXPECT_EQ(UsefulPairs(std::array{axis, axis}), 25);
}

}  // namespace
}  // namespace dlroof
