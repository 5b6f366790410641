#include "baselines/compare/compare_stored.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/fakes/small_run.h"
#include "tests/fakes/verdicts.h"

namespace dlroof::compare {
namespace {

using testing::ElementsAre;

TEST(ShiftsBetweenRuns, AreWhatIsLeftOfCommonMovement) {
  // The second run is 1.1 times slower as a whole; n1 by 1.2.
  const std::vector<NamedRun> runs = {
      fakes::RunOf("a", {fakes::Measured("n0", 2), fakes::Measured("n1", 2), fakes::Measured("n2", 2)}),
      fakes::RunOf("b", {fakes::Measured("n0", 2.2), fakes::Measured("n1", 2.4), fakes::Measured("n2", 2.2)})};
  const auto shifts = ShiftsBetweenRuns(runs);
  ASSERT_EQ(shifts.size(), 3);
  EXPECT_NEAR(shifts[0].log_ratio, 0, 1e-9);
  EXPECT_NEAR(shifts[1].log_ratio, std::log(1.2 / 1.1), 1e-9);
}

TEST(ShiftsBetweenRuns, AreThoseSinceTheRunBeforeThatHasTheBenchmark) {
  const auto run = [](const std::string& where, const std::string& op, double last) {
    return fakes::RunOf(where, {fakes::Measured(op + "0", 2), fakes::Measured(op + "1", 2), fakes::Measured(op + "2", last)});
  };
  // Neighbours share nothing; a and c do.
  const auto shifts = ShiftsBetweenRuns({run("a", "n", 2), run("b", "m", 2), run("c", "n", 2.4)});
  ASSERT_EQ(shifts.size(), 3);
  EXPECT_NEAR(shifts[2].log_ratio, std::log(1.2), 1e-9);
  // Two movements less their median are none.
  const auto two = fakes::RunOf("a", {fakes::Measured("n0", 2), fakes::Measured("n1", 2)});
  EXPECT_TRUE(ShiftsBetweenRuns({two, two}).empty());
}

TEST(CompareWithStored, EachBenchmarkIsHeldAgainstTheNewestRunThatHasIt) {
  const std::vector<NamedRun> stored = {
      fakes::RunOf("old.json", {fakes::Measured("n0", 2), fakes::Measured("n1", 2), fakes::Measured("n3", 2)}),
      fakes::RunOf("new.json", {fakes::Measured("n0", 3), fakes::Measured("n4", 2)})};
  const auto fresh = fakes::RunOf("n", {fakes::Measured("n2", 1), fakes::Measured("n1", 6), fakes::Measured("n0", 3)});
  const auto result = CompareWithStored(stored, fresh, fakes::Options());
  EXPECT_THAT(fakes::Verdicts(result), ElementsAre("new", "slower", "same", "-gone", "-gone"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.rows[1].stored, &stored[0]);
  EXPECT_EQ(result.rows[2].stored, &stored[1]);
  EXPECT_EQ(result.rows[3].name(), fakes::Name("n4"));
  EXPECT_EQ(result.rows[4].name(), fakes::Name("n3"));
  EXPECT_EQ(result.count.at(statistics::Verdict::kGone), 2);
  ASSERT_EQ(result.parts.size(), 2);
  EXPECT_EQ(result.parts[0].base, "new.json");
  EXPECT_EQ(result.parts[1].count.at(statistics::Verdict::kSlower), 1);
}

// The newest stored run was an odd one for n0: 3 between runs of 2. n1 is slower than both.
TEST(CompareWithStored, AMovementFromTheNewestRunAloneIsAmbiguous) {
  const std::vector<NamedRun> stored = {
      fakes::RunOf("old.json", {fakes::Measured("n0", 2), fakes::Measured("n1", 2), fakes::Measured("n2", 2)}),
      fakes::RunOf("new.json", {fakes::Measured("n0", 3), fakes::Measured("n1", 2), fakes::Measured("n2", 2)})};
  const auto run = [&](double n1) {
    const auto fresh = fakes::RunOf("n", {fakes::Measured("n0", 2), fakes::Measured("n1", n1), fakes::Measured("n2", 2)});
    return CompareWithStored(stored, fresh, fakes::Options());
  };
  const auto slower = run(3);
  EXPECT_THAT(fakes::Verdicts(slower), ElementsAre("ambiguous", "slower", "same"));
  EXPECT_EQ(slower.rows[0].reason,
            "faster than the newest stored run, but not than the one before it");
  EXPECT_EQ(slower.exit_code, 1);
  EXPECT_EQ(slower.parts.at(0).count.count(statistics::Verdict::kFaster), 0);
  EXPECT_EQ(run(2).exit_code, 0) << "what was faster than the newest alone counts for nothing";
  // Slower than the newest alone is no alarm either.
  const std::vector<NamedRun> turned = {stored[1], stored[0]};
  const auto back = CompareWithStored(
      turned, fakes::RunOf("n", {fakes::Measured("n0", 3), fakes::Measured("n1", 2), fakes::Measured("n2", 2)}), fakes::Options());
  EXPECT_THAT(fakes::Verdicts(back), ElementsAre("ambiguous", "same", "same"));
  EXPECT_EQ(back.exit_code, 0);
}

// Nothing was judged but n0, whose only movement is the newest stored run's own.
TEST(CompareWithStored, WhatIsLeftAmbiguousAloneCannotBeSaid) {
  const auto run = [](double older, double newest, double now, std::set<Quantity> on) {
    CompareOptions options = fakes::Options();
    options.on = std::move(on);
    return CompareWithStored(
        {fakes::RunOf("old.json", {fakes::Measured("n0", older)}), fakes::RunOf("new.json", {fakes::Measured("n0", newest)})},
        fakes::RunOf("n", {fakes::Measured("n0", now)}), options);
  };
  for (const double newest : {3.0, 4.0 / 3}) {  // NEW is faster than it, slower than it
    const auto result = run(2, newest, 2, {Quantity::kTime});
    EXPECT_THAT(fakes::Verdicts(result), ElementsAre("ambiguous"));
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_EQ(result.parts.at(0).exit_code, 3);
    // Counts were judged, and are the same.
    EXPECT_EQ(run(2, newest, 2, {Quantity::kTime, Quantity::kBytes}).exit_code, 0);
  }
}

TEST(CompareWithStored, AStoredResultThatWasDisturbedIsPassedOverForAnOlderOne) {
  const std::vector<NamedRun> stored = {fakes::RunOf("old.json", {fakes::Measured("n0", 2), fakes::Measured("n1", 2)}),
                                        fakes::RunOf("new.json", {fakes::Measured("n0", 4, 3)})};
  const auto fresh = fakes::RunOf("n", {fakes::Measured("n0", 2), fakes::Measured("n1", 2)});
  const auto result = CompareWithStored(stored, fresh, fakes::Options());
  EXPECT_THAT(fakes::Verdicts(result), ElementsAre("same", "same"));
  ASSERT_EQ(result.parts.size(), 1);
  // Where there is no older one it says so.
  EXPECT_THAT(fakes::Verdicts(CompareWithStored({stored[1]}, fresh, fakes::Options())),
              ElementsAre("insufficient", "new"));
}

TEST(CompareWithStored, AMachineThatWasFasterInOneStoredRunIsToldOfThatRun) {
  std::vector<record::Record> quick, slow, all;
  for (int i = 0; i < 12; ++i) {
    quick.push_back(fakes::Measured(fmt::format("q{}", i), 2));
    slow.push_back(fakes::Measured(fmt::format("s{}", i), 2));
    all.push_back(fakes::Measured(fmt::format("q{}", i), 2.4));
    all.push_back(fakes::Measured(fmt::format("s{}", i), 2));
  }
  const std::vector<NamedRun> stored = {fakes::RunOf("slow.json", slow), fakes::RunOf("quick.json", quick)};
  const auto fresh = fakes::RunOf("n", all);
  const auto result = CompareWithStored(stored, fresh, fakes::Options());
  EXPECT_EQ(result.count.at(statistics::Verdict::kAmbiguous), 12);
  EXPECT_EQ(result.count.at(statistics::Verdict::kSame), 12);
  ASSERT_EQ(result.parts.size(), 2);
  ASSERT_TRUE(result.parts[0].common);
  EXPECT_NEAR(std::exp(result.parts[0].common->log_ratio), 1.2, 1e-6);
  EXPECT_FALSE(result.parts[1].common);
  EXPECT_FALSE(result.common);
  EXPECT_TRUE(result.rows[0].told_by_common);
  EXPECT_FALSE(result.rows[1].told_by_common);
  EXPECT_EQ(result.exit_code, 0);
}

}  // namespace
}  // namespace dlroof::compare
