#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "baselines/history/history.h"

namespace dlroof::history {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

LevelChange ChangeAt(std::size_t series, std::size_t run, double ratio, double errors = 10) {
  LevelChange change{.series = series, .run = run, .earliest = run, .latest = run, .lasts = true};
  change.log_ratio = std::log(ratio);
  change.error = std::abs(change.log_ratio) / errors;
  return change;
}

TEST(FindEvents, SeriesThatChangedInOneRunAreOneEvent) {
  const auto events = FindEvents({ChangeAt(3, 7, 1.1), ChangeAt(5, 7, 1.3), ChangeAt(8, 7, 1.2)});
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].run, 7);
  EXPECT_THAT(events[0].series, ElementsAre(5, 8, 3));  // the largest change first
  EXPECT_NEAR(events[0].ratio, 1.2, 1e-12);
  EXPECT_NEAR(events[0].low, 1.1, 1e-12);
  EXPECT_NEAR(events[0].high, 1.3, 1e-12);
  EXPECT_EQ(events[0].sureness, Sureness::kCertain);
}

TEST(FindEvents, SlowerAndFasterAreApartAndTheNewestIsFirst) {
  const auto events = FindEvents({ChangeAt(0, 4, 1.1), ChangeAt(1, 9, 1.1), ChangeAt(2, 9, 0.8)});
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[0].run, 9);
  EXPECT_EQ(events[1].run, 9);
  EXPECT_NE(events[0].ratio > 1, events[1].ratio > 1);
  EXPECT_EQ(events[2].run, 4);
}

TEST(FindEvents, AnUncertainMomentJoinsTheEventThatItMayBelongTo) {
  auto vague = ChangeAt(9, 6, 1.05);
  vague.earliest = 5;
  vague.latest = 8;
  const auto events = FindEvents({ChangeAt(0, 7, 1.1), ChangeAt(1, 7, 1.1), vague});
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].run, 7);
  EXPECT_EQ(events[0].earliest, 7);
  EXPECT_EQ(events[0].latest, 7);
}

TEST(FindEvents, WhatWasRepairedIsNone) {
  auto repaired = ChangeAt(0, 4, 1.1);
  repaired.lasts = false;
  EXPECT_THAT(FindEvents({repaired}), IsEmpty());
}

TEST(FindEvents, WhatNearlyAllDidTogetherMayBeTheMachine) {
  std::vector<LevelChange> changes;
  for (std::size_t series = 0; series < 20; ++series) changes.push_back(ChangeAt(series, 1, 1.05));
  EXPECT_EQ(FindEvents(changes, {24, 24})[0].sureness, Sureness::kProgramOrMachine);
  EXPECT_EQ(FindEvents(changes, {24, 40})[0].sureness, Sureness::kCertain) << "half of them";
  for (auto& change : changes) change.log_ratio = 0.2;
  EXPECT_EQ(FindEvents(changes, {24, 24})[0].sureness, Sureness::kCertain) << "no machine does";
}

TEST(FindEvents, ASingleChangeIsAsSureAsItsErrorsSay) {
  EXPECT_EQ(FindEvents({ChangeAt(0, 4, 1.1, 3)})[0].sureness, Sureness::kMayBeChance);
  EXPECT_EQ(FindEvents({ChangeAt(0, 4, 1.1, 4.5)})[0].sureness, Sureness::kLikely);
  EXPECT_EQ(FindEvents({ChangeAt(0, 4, 1.1, 6)})[0].sureness, Sureness::kCertain);
  // Two weak ones in one run may be chance, three are not.
  EXPECT_EQ(FindEvents({ChangeAt(0, 4, 1.1, 3), ChangeAt(1, 4, 1.1, 3)})[0].sureness,
            Sureness::kMayBeChance);
  EXPECT_EQ(FindEvents({ChangeAt(0, 4, 1.1, 3), ChangeAt(1, 4, 1.1, 3), ChangeAt(2, 4, 1.1, 3)})[0]
                .sureness,
            Sureness::kCertain);
}

// A series of 40 runs whose level is multiplied at some runs.
std::vector<LevelChange> ChangesWith(const std::vector<std::pair<std::size_t, double>>& steps,
                                     double noise, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(0, noise);
  std::vector<double> values;
  for (std::size_t run = 0; run < 40; ++run) {
    double level = 1;
    for (const auto& [at, ratio] : steps) level *= run >= at ? ratio : 1;
    values.push_back(level * std::exp(normal(engine)));
  }
  std::vector<std::size_t> runs(values.size());
  std::iota(runs.begin(), runs.end(), 0);
  return ChangesOf(2, statistics::ProfileOf(values), runs);
}

TEST(ChangesOf, ALastingStepLasts) {
  const auto changes = ChangesWith({{25, 1.2}}, 0.01, 1);
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].series, 2);
  EXPECT_TRUE(changes[0].lasts);
  EXPECT_EQ(changes[0].run, 25);
  EXPECT_LE(changes[0].earliest, 25);
  EXPECT_GE(changes[0].latest, 25);
  EXPECT_NEAR(changes[0].log_ratio, std::log(1.2), 4 * changes[0].error);
}

TEST(ChangesOf, AStepThatWasTakenBackDoesNotLast) {
  const auto changes = ChangesWith({{12, 1.2}, {28, 1 / 1.2}}, 0.005, 1);
  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_FALSE(changes[0].lasts);
  EXPECT_FALSE(changes[1].lasts);  // a repair is no gain
}

TEST(ChangesOf, ThePlantedRunIsWithinItsRangeInMostSeries) {
  int within = 0, found = 0;
  for (unsigned seed = 0; seed < 200; ++seed)
    for (const auto& change : ChangesWith({{20, 1.06}}, 0.025, seed)) {
      ++found;
      within += change.earliest <= 20 && 20 <= change.latest ? 1 : 0;
    }
  EXPECT_GT(found, 150);
  EXPECT_GT(within, 0.9 * found);
}

TEST(ChangesOf, ALargeStepIsAtItsRun) {
  int found = 0;
  for (unsigned seed = 0; seed < 200; ++seed)
    for (const auto& change : ChangesWith({{27, 1.35}}, 0.02, seed)) {
      ++found;
      EXPECT_EQ(change.run, 27);
    }
  EXPECT_EQ(found, 200);
}

TEST(PatternOf, KeepsWhatTheNamesShare) {
  EXPECT_EQ(PatternOf({"a/b/1"}), "a/b/1");
  EXPECT_EQ(PatternOf({"a/b/1", "a/c/1"}), "a/{b,c}/1");
  EXPECT_EQ(PatternOf({"a/1", "a/2", "a/3", "a/4"}), "a/*");
  EXPECT_EQ(PatternOf({"a/1", "a/1/2"}), "*");
  EXPECT_EQ(PatternOf({}), "");
}

}  // namespace
}  // namespace dlroof::history
