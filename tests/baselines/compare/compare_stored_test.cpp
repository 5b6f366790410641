#include <gmock/gmock.h>

#include <cmath>

#include "baselines/compare/compare.h"
#include "tests/fakes/small_run.h"

namespace dlroof::compare {
namespace {

using fakes::Measured, fakes::Name, fakes::Options, fakes::RunOf, fakes::Verdicts;
using statistics::Verdict;
using testing::ElementsAre;

TEST(CompareWithStored, EachBenchmarkIsComparedWithTheNewestRunThatHasIt) {
  const std::vector<NamedRun> stored = {
      RunOf("old.json", {Measured("n0", 2), Measured("n1", 2), Measured("n3", 2)}),
      RunOf("new.json", {Measured("n0", 3), Measured("n4", 2)})};
  const auto contender = RunOf("n", {Measured("n2", 1), Measured("n1", 6), Measured("n0", 3)});
  const auto result = CompareWithStored(stored, contender, Options());
  EXPECT_THAT(Verdicts(result), ElementsAre("new", "slower", "same", "-gone", "-gone"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.rows[1].stored, &stored[0]);
  EXPECT_EQ(result.rows[2].stored, &stored[1]);
  EXPECT_EQ(result.rows[3].name(), Name("n4"));
  EXPECT_EQ(result.rows[4].name(), Name("n3"));
  EXPECT_EQ(result.count.at(Verdict::kGone), 2);
  EXPECT_EQ(result.base, "new.json, old.json");
}

// The newest stored run is an outlier for n0 (3 between runs of 2). n1 is slower than both.
TEST(CompareWithStored, AShiftFromOnlyOneOfTwoRunsIsAmbiguous) {
  const std::vector<NamedRun> stored = {
      RunOf("old.json", {Measured("n0", 2), Measured("n1", 2), Measured("n2", 2)}),
      RunOf("new.json", {Measured("n0", 3), Measured("n1", 2), Measured("n2", 2)})};
  const auto run = [&](double n1) {
    const auto contender = RunOf("n", {Measured("n0", 2), Measured("n1", n1), Measured("n2", 2)});
    return CompareWithStored(stored, contender, Options());
  };
  const auto slower = run(3);
  EXPECT_THAT(Verdicts(slower), ElementsAre("ambiguous", "slower", "same"));
  EXPECT_EQ(slower.rows[0].reason, "faster, but not than most of the stored runs");
  EXPECT_EQ(slower.exit_code, 1);
  EXPECT_EQ(run(2).exit_code, 0) << "what was faster than the newest alone counts for nothing";
  // Slower than only one run cannot be told.
  const std::vector<NamedRun> turned = {stored[1], stored[0]};
  const auto back = CompareWithStored(
      turned, RunOf("n", {Measured("n0", 3), Measured("n1", 2), Measured("n2", 2)}), Options());
  EXPECT_THAT(Verdicts(back), ElementsAre("ambiguous", "same", "same"));
  EXPECT_EQ(back.exit_code, 3);
}

// Only n0 was judged, and its shift is that of the newest stored run.
TEST(CompareWithStored, OnlyAmbiguousVerdictsExitWithCannotSay) {
  for (const double newest : {3.0, 4.0 / 3}) {  // NEW is faster than it, slower than it
    const auto result = CompareWithStored(
        {RunOf("old.json", {Measured("n0", 2)}), RunOf("new.json", {Measured("n0", newest)})},
        RunOf("n", {Measured("n0", 2)}), Options());
    EXPECT_THAT(Verdicts(result), ElementsAre("ambiguous"));
    EXPECT_EQ(result.exit_code, 3);
  }
}

TEST(CompareWithStored, ANoisyStoredResultIsSkippedForAnOlderOne) {
  const std::vector<NamedRun> stored = {RunOf("old.json", {Measured("n0", 2), Measured("n1", 2)}),
                                        RunOf("new.json", {Measured("n0", 4, 3)})};
  const auto contender = RunOf("n", {Measured("n0", 2), Measured("n1", 2)});
  const auto result = CompareWithStored(stored, contender, Options());
  EXPECT_THAT(Verdicts(result), ElementsAre("same", "same"));
  EXPECT_EQ(result.base, "old.json");
  // Without an older run the verdict remains.
  EXPECT_THAT(Verdicts(CompareWithStored({stored[1]}, contender, Options())),
              ElementsAre("insufficient", "new"));
}

TEST(CompareWithStored, ReportsACommonShiftForTheStoredRunThatShowsIt) {
  std::vector<record::Record> quick, slow, all;
  for (int i = 0; i < 20; ++i) {
    quick.push_back(Measured(fmt::format("q{}", i), 2));
    slow.push_back(Measured(fmt::format("s{}", i), 2));
    all.push_back(Measured(fmt::format("q{}", i), 2.4));
    all.push_back(Measured(fmt::format("s{}", i), 2));
  }
  const std::vector<NamedRun> stored = {RunOf("slow.json", slow), RunOf("quick.json", quick)};
  const auto contender = RunOf("n", all);
  const auto result = CompareWithStored(stored, contender, Options());
  EXPECT_EQ(result.count.at(Verdict::kSlower), 20);
  EXPECT_EQ(result.count.at(Verdict::kSame), 20);
  ASSERT_TRUE(result.judged.common);
  EXPECT_NEAR(std::exp(result.judged.common->all.log_ratio), 1.2, 1e-6)
      << "of the group that moved";
  EXPECT_EQ(result.exit_code, 1);
}

// Ten quiet runs and then one to three slow ones: slower at once, in the order in which they came.
TEST(CompareWithStored, AJumpStaysSlowerUntilMostOfTheWindowHasIt) {
  for (const double ratio : {1.1, 1.5}) {
    std::vector<NamedRun> stored;
    const auto add = [&](double seconds) {
      const double own = 1 + 0.002 * static_cast<double>(stored.size() % 4);
      stored.push_back(RunOf("r", {Measured("n0", own * seconds), Measured("n1", own)}));
    };
    for (int run = 0; run < 10; ++run) add(1);
    for (const char* said : {"unconfirmed, 1 run", "confirmed by 2 runs", "confirmed by 3 runs"}) {
      add(ratio);
      const auto contender = stored.back();
      stored.pop_back();
      const auto result = CompareWithStored(stored, contender, {});
      EXPECT_THAT(Verdicts(result), ElementsAre("slower", "same"));
      EXPECT_EQ(result.rows[0].reason, said);
      EXPECT_EQ(result.exit_code, 1);
      stored.push_back(contender);
    }
  }
}

// In names of other programs the second part is an argument, not a device: no group of its own.
TEST(CompareWithStored, ArgumentsMakeNoGroups) {
  std::vector<record::Record> before, after;
  for (int i = 0; i < 4; ++i)
    for (auto* run : {&before, &after}) {
      auto& record = run->emplace_back(Measured("", i == 0 && run == &after ? 2.1 : 2));
      record.name = fmt::format("BM/{}/manual_time", i);
      record::SplitName(record);
    }
  const auto base = RunOf("b", before), contender = RunOf("n", after);
  const auto result = CompareWithStored({base}, contender, Options());
  ASSERT_TRUE(result.judged.common);
  EXPECT_EQ(result.judged.common->all.count, 4);
  EXPECT_FALSE(result.judged.common->is_unexplained);
}

// 5 % of all benchmarks may be the program's or the machine's: exit code 3, never 0.
TEST(CompareWithStored, AShiftOfAllThatNothingExplainsIsNoSuccess) {
  std::vector<record::Record> before, after;
  for (int i = 0; i < 20; ++i) {
    before.push_back(Measured(fmt::format("b{}", i), 2));
    after.push_back(Measured(fmt::format("b{}", i), 2.1));
  }
  const auto base = RunOf("b", before), contender = RunOf("n", after);
  for (const auto& result :
       {Compare(base, contender, Options()), CompareWithStored({base}, contender, Options())})
    EXPECT_EQ(result.exit_code, 3);
}

}  // namespace
}  // namespace dlroof::compare
