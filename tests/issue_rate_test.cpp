#include "counters/issue_rate.h"

#include <gtest/gtest.h>

namespace dlroof {
namespace {

// At least one addition every eight cycles, and no more than eight in one: there are eight chains.
// The clock may change between the two loops of a pair.
TEST(MeasureIssueRate, IsWhatACoreCanIssueWhereThereAreLoops) {
  const auto rate = MeasureIssueRate();
  if (!rate) GTEST_SKIP() << "no loops for this family of CPUs";
  EXPECT_GT(*rate, 0.125);
  EXPECT_LT(*rate, 10);
}

TEST(CoreShare, IsOverTheBestSeen) {
  CoreShare share;
  EXPECT_EQ(share.Of(2), 1);
  EXPECT_EQ(share.Of(4), 1);
  EXPECT_EQ(share.Of(2), 0.5);
}

TEST(CoreShare, KnowsTheBestOfAnEarlierMeasurementAndLearnsABetterOne) {
  CoreShare share(4);
  EXPECT_EQ(share.Of(3), 0.75);
  EXPECT_EQ(share.Of(5), 1);
  EXPECT_EQ(share.Of(4), 0.8);
}

}  // namespace
}  // namespace dlroof
