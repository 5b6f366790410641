#include "baselines/statistics/shift.h"

#include <gmock/gmock.h>

#include <cmath>

namespace dlroof::statistics {
namespace {

using testing::DoubleNear, testing::ElementsAre;

TEST(Student, QuantilesAndTailsAreThoseOfTheTables) {
  EXPECT_NEAR(StudentQuantile(1), 12.7062, 1e-4);
  EXPECT_NEAR(StudentQuantile(6), 2.44691, 1e-5);
  EXPECT_NEAR(StudentQuantile(30), 2.04227, 1e-5);
  EXPECT_NEAR(StudentQuantile(30, 0.01), 2.75000, 1e-5);
  EXPECT_NEAR(StudentQuantile(1e6), 1.95996, 1e-4);
  // t = 1 with 1 degree of freedom (Cauchy): a half. With 2: 1 - t / sqrt(2 + t^2).
  EXPECT_NEAR(StudentTwoSided(1, 1), 0.5, 1e-12);
  EXPECT_NEAR(StudentTwoSided(-3, 2), 1 - 3 / std::sqrt(11.0), 1e-12);
  EXPECT_EQ(StudentTwoSided(0, 5), 1);
  // Two degrees: 1 - t / sqrt(2 + t^2) is 1 / t^2 - 1.5 / t^4 ... for large t.
  EXPECT_NEAR(StudentTwoSided(1e6, 2) / 1e-12, 1, 1e-9);
}

TEST(AdjustedPValues, AreThoseOfBenjaminiAndHochberg) {
  // Sorted 0.01 0.02 0.03 0.5 of 4: 4/1, 4/2, 4/3, 4/4 of them, made monotone from the largest.
  const auto adjusted = AdjustedPValues({0.5, 0.01, 0.03, 0.02});
  EXPECT_THAT(adjusted, ElementsAre(DoubleNear(0.5, 1e-12), DoubleNear(0.04, 1e-12),
                                    DoubleNear(0.04, 1e-12), DoubleNear(0.04, 1e-12)));
  EXPECT_TRUE(AdjustedPValues({}).empty());
  EXPECT_DOUBLE_EQ(AdjustedPValues({0.2}).at(0), 0.2);
}

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
  EXPECT_DOUBLE_EQ(paired->log_ratio, 0.045);
  EXPECT_DOUBLE_EQ(paired->ci95.first, 0.01);
  EXPECT_DOUBLE_EQ(paired->ci95.second, 0.08);
  EXPECT_DOUBLE_EQ(paired->p_value, 2.0 / 256);
}

TEST(PairedShift, OneWildBlockMovesNeitherEstimateNorSign) {
  // Ten means of two have the wild one in them and are negative, 45 are 0.01. Subsets of {1..10}
  // with a sum of at most 10: 1 1 1 2 2 3 4 5 6 8 10, together 43 of 1024.
  std::vector<double> blocks(9, 0.01);
  blocks.push_back(-1);
  const auto paired = MeasurePairedShift(blocks, 0.99);
  ASSERT_TRUE(paired);
  EXPECT_DOUBLE_EQ(paired->log_ratio, 0.01);
  EXPECT_DOUBLE_EQ(paired->p_value, 2 * 43.0 / 1024);
}

TEST(PairedShift, NothingMovedIsCertainlyNoChangeAndTooFewBlocksHaveNoInterval) {
  const auto paired = MeasurePairedShift(std::vector<double>(10, 0.0), 0.99);
  ASSERT_TRUE(paired);
  EXPECT_EQ(paired->p_value, 1);
  EXPECT_EQ(paired->log_ratio, 0);
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

TEST(BlockLogRatios, ANoisyWindowTakesItsPartnerWithItUnlessMostAreNoisy) {
  record::Record base, contender;
  Add(base, 0, {1, 9, 1}, 1);
  Add(contender, 0, {2, 1, 2});
  Add(base, 1, {1, 1, 1}, 0);  // only one pair of three is clean, so all count
  Add(contender, 1, {3, 3, 5}, 1);
  Add(base, 2, {1, 1, 1});  // NEW has no such block
  EXPECT_THAT(BlockLogRatios(base, contender),
              ElementsAre(DoubleNear(std::log(2), 1e-12), DoubleNear(std::log(3), 1e-12)));
}

TEST(Sequential, APValuePaysForAllLooks) {
  // Ten of ten slower: 2 / 1024, five times.
  const auto paired = MeasureSequentialShift(std::vector<double>(10, 0.05));
  ASSERT_TRUE(paired);
  EXPECT_DOUBLE_EQ(paired->p_value, 5 * 2.0 / 1024);
  EXPECT_FALSE(MeasureSequentialShift(std::vector<double>(kMinBlocks - 1, 0.05)));
}

}  // namespace
}  // namespace dlroof::statistics
