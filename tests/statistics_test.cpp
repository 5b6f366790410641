#include "counters/statistics.h"

#include <gtest/gtest.h>

#include <random>

namespace dlroof {
namespace {

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoMiddleOnes) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(Median({7}), 7);
}

// Coverage of [x(k+1), x(n-k)] is 1 - 2 * P(Binomial(n, 1/2) <= k):
// n = 5: 1 - 2/32 = 0.9375, too little. n = 6: 1 - 2/64 = 0.969. n = 9, k = 1: 1 - 2 * 10/512 =
// 0.961; k = 2 would be 0.82.
TEST(MedianInterval95, UsesTheOuterValuesThatBinomialCoverageAsksFor) {
  EXPECT_EQ(MedianInterval95({1, 2, 3, 4, 5}), std::nullopt);
  EXPECT_EQ(MedianInterval95({6, 1, 2, 3, 4, 5}), (std::pair<double, double>{1, 6}));
  EXPECT_EQ(MedianInterval95({9, 8, 7, 6, 5, 4, 3, 2, 1}), (std::pair<double, double>{2, 8}));
}

TEST(MedianInterval95, HoldsTheMedianOfASkewedDistributionAsOftenAsItSays) {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> skewed(1);
  const double median = 0.6931471805599453;
  int held = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values(15);
    for (double& value : values) value = skewed(random);
    const auto interval = MedianInterval95(values).value();
    held += interval.first <= median && median <= interval.second ? 1 : 0;
  }
  EXPECT_GE(held, kTrials * 0.95);  // exact coverage for n = 15 is 0.965
  EXPECT_LE(held, kTrials * 0.98);
}

}  // namespace
}  // namespace dlroof
