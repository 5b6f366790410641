#include "baselines/statistics/paired_shift.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace dlroof {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

// Windows of one block.
void Add(Record& record, int block, const std::vector<double>& seconds, int disturbed = -1) {
  for (std::size_t i = 0; i < seconds.size(); ++i)
    record.repetitions.push_back({.seconds = seconds[i],
                                  .iterations = 1,
                                  .disturbed = static_cast<int>(i) == disturbed,
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
  EXPECT_FALSE(MeasurePairedShift(std::vector<double>(kLeastBlocks - 1, 0.1), 0.99));
  EXPECT_TRUE(MeasurePairedShift(std::vector<double>(kLeastBlocks, 0.1), 0.99));
  EXPECT_FALSE(MeasurePairedShift({}, 0.99));
}

TEST(BlockLogRatios, AreMediansOfWindowsOfOneMoment) {
  Record base, fresh;
  Add(base, 0, {1, 2, 4});  // a slow spell that both see
  Add(fresh, 0, {2, 4, 12});
  Add(base, 3, {1, 1, 1});
  Add(fresh, 3, {1, 1, 1});
  EXPECT_THAT(BlockLogRatios(base, fresh),
              ElementsAre(DoubleNear(std::log(2), 1e-12), DoubleNear(0, 1e-12)));
}

TEST(BlockLogRatios, ADisturbedWindowTakesItsPartnerWithIt) {
  Record base, fresh;
  Add(base, 0, {1, 9, 1}, 1);
  Add(fresh, 0, {2, 1, 2});
  Add(base, 1, {1, 1, 1}, 0);  // one pair of three is left: no block
  Add(fresh, 1, {1, 1, 1}, 1);
  Add(base, 2, {1, 1, 1});  // NEW has no such block
  EXPECT_THAT(BlockLogRatios(base, fresh), ElementsAre(DoubleNear(std::log(2), 1e-12)));
}

}  // namespace
}  // namespace dlroof
