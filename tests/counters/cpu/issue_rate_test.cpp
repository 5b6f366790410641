#include "counters/cpu/issue_rate.h"

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

// Two threads of one core, 2 additions per cycle each; one that looks alone has all 4.
TEST(TeamIssueRate, IsTheLowestOfLooksBesideEachOther) {
  EXPECT_EQ(TeamIssueRate({{0, 1, 4}}), 4);
  EXPECT_EQ(TeamIssueRate({{0, 1, 4}, {0.05, 1.05, 2}}), 2);
  EXPECT_EQ(TeamIssueRate({{0, 1, 4}, {0.5, 1.5, 4}}), std::nullopt);  // half the time alone
  EXPECT_EQ(TeamIssueRate({{0, 1, 4}, {0, 3, 2}}), std::nullopt);      // it waited for its CPU
  EXPECT_EQ(TeamIssueRate({{0, 1, 4}, {}}), std::nullopt);             // it never came
  EXPECT_EQ(TeamIssueRate({}), std::nullopt);
}

TEST(TeamLook, DoesNotWaitForThreadsThatDoNotCome) {
  TeamLook look(2);
  look.Measure(0);
  look.Measure(7);
  EXPECT_FALSE(look.Rate());
}

TEST(BestIssueRate, IsTheThirdHighestOrTheLowestOfFewer) {
  BestIssueRate best;
  EXPECT_FALSE(best.Value());
  best.Add(2);
  EXPECT_EQ(best.Value(), 2);
  best.Add(4);
  EXPECT_EQ(best.Value(), 2);
  best.Add(3);
  EXPECT_EQ(best.Value(), 2);
  best.Add(3.5);
  EXPECT_EQ(best.Value(), 3);
  best.Add(1);
  EXPECT_EQ(best.Value(), 3);
}

TEST(CoreShare, IsOverTheBestThatWasMetMoreThanOnce) {
  CoreShare share;
  EXPECT_EQ(share.Of(4), 1);
  EXPECT_EQ(share.Of(4), 1);
  EXPECT_EQ(share.Of(4), 1);
  EXPECT_EQ(share.Of(2), 0.5);
  EXPECT_EQ(share.Of(8), 1);  // once: an accident
  EXPECT_EQ(share.Of(2), 0.5);
}

TEST(CoreShare, OfTwoLooksIsTheLower) {
  CoreShare share(4);
  EXPECT_EQ(share.OfLower(4, 3), 0.75);
  EXPECT_EQ(share.OfLower(1, std::nullopt), 0.25);
  EXPECT_EQ(share.OfLower(std::nullopt, std::nullopt), std::nullopt);
}

TEST(CoreShare, KnowsTheBestOfAnEarlierMeasurementAndLearnsABetterOne) {
  CoreShare share(4);
  EXPECT_EQ(share.Of(3), 0.75);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(share.Of(5), 1);
  EXPECT_EQ(share.Of(4), 0.8);
}

}  // namespace
}  // namespace dlroof
