#include "baselines/statistics/modes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace dlroof::statistics {
namespace {

using testing::SizeIs;

// Values of two speeds: `low` of the faster one, then `high` of one that is `apart` slower.
std::vector<double> TwoSpeeds(int low, int high, double apart, double noise, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(0, noise);
  std::vector<double> logs;
  for (int i = 0; i < low + high; ++i) logs.push_back((i < low ? 0 : apart) + normal(engine));
  return logs;
}

TEST(ModesTogether, ASpeedThatEachRunHasOnceIsNoOutlier) {
  const auto base = TwoSpeeds(9, 1, 0.12, 0.01, 1), contender = TwoSpeeds(1, 9, 0.12, 0.01, 2);
  ASSERT_THAT(ModesOf(base).modes, SizeIs(1));
  const auto both = ModesTogether(base, contender, 0);
  ASSERT_TRUE(both);
  ASSERT_THAT(both->first.modes, SizeIs(2));
  EXPECT_THAT(both->first.modes[0].logs, SizeIs(9));
  EXPECT_THAT(both->second.modes[0].logs, SizeIs(1));
  const auto matched = MatchModes(both->first, both->second, 0, 0.01);
  EXPECT_NEAR(matched.log_ratio, 0, 0.02);
  EXPECT_DOUBLE_EQ(matched.more_at_slower, 0.8);
}

TEST(ModesTogether, TheRunsFactorIsTakenOut) {
  auto contender = TwoSpeeds(5, 5, 0.12, 0.01, 2);
  for (double& one : contender) one += 0.05;
  const auto both = ModesTogether(TwoSpeeds(8, 2, 0.12, 0.01, 1), contender, 0.05);
  ASSERT_TRUE(both);
  EXPECT_THAT(both->second.modes[0].logs, SizeIs(5));
  EXPECT_NEAR(both->second.modes[0].log_seconds, 0.05, 0.02);  // its own times
}

TEST(ModesTogether, DisturbedValuesAreLeftOut) {
  auto base = TwoSpeeds(7, 3, 0.12, 0.01, 3);
  base[0] += 0.4;
  const auto both = ModesTogether(base, TwoSpeeds(4, 6, 0.12, 0.01, 4), 0);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->first.left_out, 1);
}

TEST(MatchModes, ARunAtOneSpeedIsAtTheNearest) {
  const auto two = ModesOf(TwoSpeeds(6, 4, 0.12, 0.005, 1)),
             slow = ModesOf(TwoSpeeds(0, 10, 0.12, 0.005, 2));
  ASSERT_THAT(two.modes, SizeIs(2));
  EXPECT_DOUBLE_EQ(MatchModes(two, slow, 0, 0.005).more_at_slower, 0.6);
  EXPECT_DOUBLE_EQ(MatchModes(slow, two, 0, 0.005).more_at_slower, -0.6);
  EXPECT_DOUBLE_EQ(MatchModes(slow, slow, 0, 0.005).more_at_slower, 0);
}

// A change is no second speed: no run has values of both.
TEST(ModesTogether, AChangeIsNone) {
  for (unsigned seed = 0; seed < 100; ++seed)
    EXPECT_FALSE(ModesTogether(TwoSpeeds(10, 0, 0, 0.01, seed),
                               TwoSpeeds(0, 10, 0.12, 0.01, seed + 1000), 0));
}

TEST(ModesTogether, NoiseAndAChangeOfFivePercentAreSeldomTaken) {
  int taken = 0;
  for (unsigned seed = 0; seed < 1000; ++seed)
    taken +=
        ModesTogether(TwoSpeeds(10, 0, 0, 0.02, seed), TwoSpeeds(0, 10, 0.05, 0.02, seed + 5000), 0)
            ? 1
            : 0;
  EXPECT_LT(taken, 20);
}

}  // namespace
}  // namespace dlroof::statistics
