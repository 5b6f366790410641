#include "baselines/statistics/shift.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "counters/base/numbers.h"

namespace dlroof::statistics {
namespace {

TEST(Normal, QuantilesAndTailsAreThoseOfTheTables) {
  EXPECT_NEAR(NormalQuantile(0.975), 1.959964, 1e-6);
  EXPECT_NEAR(NormalQuantile(0.025), -1.959964, 1e-6);
  EXPECT_EQ(NormalQuantile(0.5), 0);
  EXPECT_NEAR(NormalTail(1.959964), 0.025, 1e-7);
  // Abramowitz and Stegun, tables 26.1 and 26.2.
  EXPECT_NEAR(NormalTail(3), 1.349898e-3, 1e-9);
  EXPECT_NEAR(NormalTail(-3), 1 - 1.349898e-3, 1e-9);
  EXPECT_NEAR(NormalTail(6) / 9.865876e-10, 1, 1e-6);
  EXPECT_NEAR(NormalTail(20) / 2.753624e-89, 1, 1e-6);
  EXPECT_NEAR(NormalQuantile(0.995), 2.575829, 1e-6);
}

TEST(Student, QuantilesAndTailsAreThoseOfTheTables) {
  EXPECT_NEAR(StudentQuantile95(1), 12.7062, 1e-4);
  EXPECT_NEAR(StudentQuantile95(6), 2.44691, 1e-5);
  EXPECT_NEAR(StudentQuantile95(6.9), 2.44691, 1e-5);
  EXPECT_NEAR(StudentQuantile95(30), 2.04227, 1e-5);
  EXPECT_NEAR(StudentQuantile95(120), 1.97993, 1e-5);
  EXPECT_NEAR(StudentQuantile95(1e9), 1.96, 0.013);
  EXPECT_NEAR(StudentQuantile95(0.5), 12.7062, 1e-4);
  // t = 1 with 1 degree of freedom (Cauchy): a half. With 2: 1 - t / sqrt(2 + t^2).
  EXPECT_NEAR(StudentTwoSided(1, 1), 0.5, 1e-12);
  EXPECT_NEAR(StudentTwoSided(-3, 2), 1 - 3 / std::sqrt(11.0), 1e-12);
  EXPECT_EQ(StudentTwoSided(0, 5), 1);
  // Tables of the quantiles at 99 %: 2.76377 (10 degrees, one-sided) and 2.75000 (30, two-sided).
  EXPECT_NEAR(StudentTwoSided(2.76377, 10), 0.02, 1e-7);
  EXPECT_NEAR(StudentTwoSided(2.75000, 30), 0.01, 1e-6);
}

TEST(Student, FarTailsKeepTheirDigits) {
  // Two degrees: 1 - t / sqrt(2 + t^2) is 1 / t^2 - 1.5 / t^4 ... for large t.
  EXPECT_NEAR(StudentTwoSided(1e6, 2) / 1e-12, 1, 1e-9);
  EXPECT_GT(StudentTwoSided(50, 14), 0);
  EXPECT_LT(StudentTwoSided(50, 14), 1e-15);
  EXPECT_NEAR(StudentTwoSided(4, 1e8) / (2 * NormalTail(4)), 1, 1e-5);
}

TEST(AdjustedPValues, AreThoseOfBenjaminiAndHochberg) {
  // Sorted 0.01 0.02 0.03 0.5 of 4: 4/1, 4/2, 4/3, 4/4 of them, made monotone from the largest.
  const auto adjusted = AdjustedPValues({0.5, 0.01, 0.03, 0.02});
  EXPECT_THAT(adjusted, testing::ElementsAre(
                            testing::DoubleNear(0.5, 1e-12), testing::DoubleNear(0.04, 1e-12),
                            testing::DoubleNear(0.04, 1e-12), testing::DoubleNear(0.04, 1e-12)));
  EXPECT_TRUE(AdjustedPValues({}).empty());
  EXPECT_DOUBLE_EQ(AdjustedPValues({0.2}).at(0), 0.2);
}

}  // namespace
namespace {

std::vector<double> Times(const std::vector<double>& logs) {
  std::vector<double> times;
  for (const double log : logs) times.push_back(std::exp(log));
  return times;
}

TEST(MeasureShift, IsTheMedianOfAllDifferencesAndItsOrderStatistics) {
  // BASE 0 1 2 3, NEW 10 20 40 80: differences 7..10, 17..20, 37..40, 77..80. The middle two of the
  // 16 are 20 and 37. With 4 and 4 values, 1 of 70 orders has no NEW below a BASE: cut 1, level
  // 1 - 2 / 70, from the least to the largest.
  const auto shift = MeasureShift(Times({0, 1, 2, 3}), Times({80, 10, 40, 20}));
  ASSERT_TRUE(shift.has_value());
  EXPECT_NEAR(shift->log_ratio, 28.5, 1e-9);
  EXPECT_NEAR(shift->ci95.first, 7, 1e-9);
  EXPECT_NEAR(shift->ci95.second, 80, 1e-9);
  EXPECT_EQ(shift->cliffs_delta, 1);
  EXPECT_EQ(shift->degrees, 6);
  // 73 over twice the quantile of 1 - 1/70, which is 2.1893 (tables of the normal distribution).
  EXPECT_NEAR(shift->standard_error, 73 / (2 * 2.1893), 1e-2);
}

TEST(MeasureShift, IsThatOfAllDifferencesSorted) {
  std::mt19937 random(3);
  std::normal_distribution<double> scatter(0, 0.1);
  // Up to 144 differences, more than the 128 that count as few; every other time with ties.
  for (int n = 4; n <= 12; ++n)
    for (int m = 4; m <= 12; ++m) {
      std::vector<double> base(n), contender(m), differences;
      const auto draw = [&] {
        const double log = scatter(random);
        return std::exp((n + m) % 2 == 0 ? log : std::round(20 * log) / 20);
      };
      for (double& value : base) value = draw();
      for (double& value : contender) value = draw();
      for (const double x : base)
        for (const double y : contender) differences.push_back(std::log(y) - std::log(x));
      std::ranges::sort(differences);
      const auto shift = MeasureShift(base, contender);
      const auto cut = static_cast<std::size_t>(IntervalRank95(n, m)->cut);
      ASSERT_TRUE(shift.has_value());
      EXPECT_EQ(shift->log_ratio, Median(differences)) << n << ' ' << m;
      EXPECT_EQ(shift->ci95.first, differences[cut - 1]) << n << ' ' << m;
      EXPECT_EQ(shift->ci95.second, differences[differences.size() - cut]) << n << ' ' << m;
    }
}

TEST(MeasureShift, TakesARatioWhateverTheUnit) {
  const std::vector<double> base = {1.0, 1.1, 0.9, 1.05, 0.95};
  std::vector<double> contender;
  for (const double value : base) contender.push_back(1.25 * value);
  const auto shift = MeasureShift(base, contender);
  ASSERT_TRUE(shift.has_value());
  EXPECT_NEAR(std::exp(shift->log_ratio), 1.25, 1e-9);
  for (double& value : contender) value *= 1e-6;
  const auto scaled = MeasureShift(base, contender);
  EXPECT_NEAR(scaled->log_ratio - shift->log_ratio, std::log(1e-6), 1e-9);
  EXPECT_NEAR(scaled->standard_error, shift->standard_error, 1e-9);
}

TEST(MeasureShift, AFifthOfWildValuesDoesNotMoveItFar) {
  std::vector<double> base, contender;
  for (int i = 0; i < 10; ++i) {
    base.push_back(1 + 0.001 * i);
    contender.push_back(1 + 0.001 * i);
  }
  contender[0] = contender[5] = 50;
  EXPECT_NEAR(MeasureShift(base, contender)->log_ratio, 0, 0.003);
}

TEST(MeasureShift, TooFewOrNoPositiveValuesHaveNone) {
  EXPECT_FALSE(MeasureShift({1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}).has_value());
  EXPECT_FALSE(MeasureShift({}, {}).has_value());
  EXPECT_FALSE(MeasureShift({1, 1, 0, 1}, {1, 1, 1, 1}).has_value());
}

TEST(MeasureShift, LongSamplesAreGroupedAndKeepTheirShift) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0, 0.02);
  std::vector<double> base, contender;
  for (int i = 0; i < 20000; ++i) {
    base.push_back(std::exp(noise(random)));
    contender.push_back(std::exp(0.05 + noise(random)));
  }
  const auto shift = MeasureShift(base, contender);
  EXPECT_NEAR(shift->log_ratio, 0.05, 0.002);
  EXPECT_LT(shift->ci95.second - shift->ci95.first, 0.004);
}

TEST(IntervalRank95, IsThatOfThePublishedTables) {
  // Critical values of U at 0.025 one-sided (Mann and Whitney's table): 4,4: 0; 5,5: 2; 6,6: 5;
  // 7,8: 10; 9,9: 17; 10,10: 23; 20,20: 127. The interval leaves out U values below cut = U + 1.
  const int kTable[][3] = {{4, 4, 0},  {5, 5, 2},  {6, 6, 5},    {7, 8, 10},
                           {8, 7, 10}, {9, 9, 17}, {10, 10, 23}, {20, 20, 127}};
  for (const auto& [n, m, critical] : kTable) {
    const auto rank = IntervalRank95(n, m);
    ASSERT_TRUE(rank.has_value()) << n << ' ' << m;
    EXPECT_EQ(rank->cut, critical + 1) << n << ' ' << m;
    EXPECT_GE(rank->level, 0.95);
  }
  EXPECT_NEAR(IntervalRank95(4, 4)->level, 1 - 2.0 / 70, 1e-12);
  EXPECT_FALSE(IntervalRank95(3, 4).has_value());
  EXPECT_FALSE(IntervalRank95(1, 30).has_value());
}

TEST(IntervalRank95, ApproximationMeetsTheExactLevels) {
  // 20 x 20 is the last exact one, 20 x 21 the first by the approximation.
  const auto exact = IntervalRank95(20, 20), beyond = IntervalRank95(20, 21);
  EXPECT_GT(beyond->cut, exact->cut);
  EXPECT_LT(beyond->cut, exact->cut + 12);
  EXPECT_NEAR(beyond->level, 0.95, 0.005);
}

// Returns the part of 4,000 intervals that hold the true shift, for noise of one shape.
template <class Draw>
double Coverage(int n, int m, const Draw& draw) {
  int covered = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<double> base, contender;
    for (int i = 0; i < n; ++i) base.push_back(std::exp(draw()));
    for (int i = 0; i < m; ++i) contender.push_back(std::exp(0.1 + draw()));
    const auto shift = MeasureShift(base, contender);
    covered += shift->ci95.first <= 0.1 && 0.1 <= shift->ci95.second ? 1 : 0;
  }
  return covered / 4000.0;
}

TEST(MeasureShift, IntervalCoversWhatItPromisesWhateverTheNoise) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> gauss(0, 0.01);
  std::student_t_distribution<double> heavy(2);
  std::exponential_distribution<double> skewed(100);
  // 0.95 less three standard errors of 4,000 rounds.
  const double least = 0.95 - 3 * std::sqrt(0.95 * 0.05 / 4000);
  for (const auto& [n, m] : {std::pair{4, 4}, {5, 9}, {6, 6}, {9, 9}}) {
    EXPECT_GE(Coverage(n, m, [&] { return gauss(random); }), least) << n << ' ' << m;
    EXPECT_GE(Coverage(n, m, [&] { return 0.01 * heavy(random); }), least) << n << ' ' << m;
    EXPECT_GE(Coverage(n, m, [&] { return skewed(random); }), least) << n << ' ' << m;
  }
}

using testing::DoubleNear;
using testing::ElementsAre;

// Windows of one block.
void Add(record::Record& record, int block, const std::vector<double>& seconds, int noisy = -1) {
  for (std::size_t i = 0; i < seconds.size(); ++i)
    record.repetitions.push_back({.seconds = seconds[i],
                                  .iterations = 1,
                                  .noisy = static_cast<int>(i) == noisy,
                                  .block = block});
}

TEST(SignedRank, DistributionOfThreeRanksIsCounted) {
  // Sums of the subsets of {1, 2, 3}: 0 1 2 3 3 4 5 6, each 1/8.
  EXPECT_THAT(SignedRankCumulated(3), ElementsAre(0.125, 0.25, 0.375, 0.625, 0.75, 0.875, 1.0));
}

TEST(PairedShift, OfEightBlocksIsTheirMiddleAndTheirRange) {
  // Means of two of 1 to 8 lie symmetrically around 4.5. 2 P(W <= 0) = 2/256 is within 1 %,
  // 2 P(W <= 1) = 4/256 is not: the interval reaches from the least to the largest.
  const auto paired = MeasurePairedShift({0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08}, 0.99);
  ASSERT_TRUE(paired);
  EXPECT_DOUBLE_EQ(paired->shift.log_ratio, 0.045);
  EXPECT_DOUBLE_EQ(paired->shift.ci95.first, 0.01);
  EXPECT_DOUBLE_EQ(paired->shift.ci95.second, 0.08);
  EXPECT_DOUBLE_EQ(paired->p_value, 2.0 / 256);
  EXPECT_DOUBLE_EQ(paired->shift.cliffs_delta, 1);
  EXPECT_EQ(paired->shift.degrees, 7);
}

TEST(PairedShift, OneWildBlockMovesNeitherEstimateNorSign) {
  // Ten means of two have the wild one in them and are negative, 45 are 0.01. Subsets of {1..10}
  // with a sum of at most 10: 1 1 1 2 2 3 4 5 6 8 10, together 43 of 1024.
  std::vector<double> blocks(9, 0.01);
  blocks.push_back(-1);
  const auto paired = MeasurePairedShift(blocks, 0.99);
  ASSERT_TRUE(paired);
  EXPECT_DOUBLE_EQ(paired->shift.log_ratio, 0.01);
  EXPECT_DOUBLE_EQ(paired->p_value, 2 * 43.0 / 1024);
  EXPECT_DOUBLE_EQ(paired->shift.cliffs_delta, 0.8);
}

TEST(PairedShift, NothingMovedIsCertainlyNoChange) {
  const auto paired = MeasurePairedShift(std::vector<double>(10, 0.0), 0.99);
  ASSERT_TRUE(paired);
  EXPECT_EQ(paired->p_value, 1);
  EXPECT_EQ(paired->shift.log_ratio, 0);
}

TEST(PairedShift, TooFewBlocksHaveNoInterval) {
  EXPECT_FALSE(MeasurePairedShift(std::vector<double>(kMinBlocks - 1, 0.1), 0.99));
  EXPECT_TRUE(MeasurePairedShift(std::vector<double>(kMinBlocks, 0.1), 0.99));
  EXPECT_FALSE(MeasurePairedShift({}, 0.99));
}

TEST(BlockLogRatios, AreMediansOfWindowsOfOneMoment) {
  record::Record base, contender;
  Add(base, 0, {1, 2, 4});  // a slow phase that affects both
  Add(contender, 0, {2, 4, 12});
  Add(base, 3, {1, 1, 1});
  Add(contender, 3, {1, 1, 1});
  EXPECT_THAT(BlockLogRatios(base, contender),
              ElementsAre(DoubleNear(std::log(2), 1e-12), DoubleNear(0, 1e-12)));
}

TEST(BlockLogRatios, ANoisyWindowTakesItsPartnerWithIt) {
  record::Record base, contender;
  Add(base, 0, {1, 9, 1}, 1);
  Add(contender, 0, {2, 1, 2});
  Add(base, 1, {1, 1, 1}, 0);  // only one pair of three is clean, so the block is left out
  Add(contender, 1, {1, 1, 1}, 1);
  Add(base, 2, {1, 1, 1});  // NEW has no such block
  EXPECT_THAT(BlockLogRatios(base, contender), ElementsAre(DoubleNear(std::log(2), 1e-12)));
}

}  // namespace
}  // namespace dlroof::statistics
