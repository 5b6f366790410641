// What is measured again, and when enough is measured.
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "baselines/statistics/shift.h"
#include "bench/supervise/supervise.h"
#include "counters/base/error.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/small_run.h"

namespace dlroof::supervise {
namespace {

using compare::Compare, compare::CompareResult, compare::CompareWithStored, compare::NamedRun;
using fakes::Measured, fakes::RunOf;
using testing::AllOf, testing::ElementsAre, testing::HasSubstr;

NamedRun Base() { return RunOf("base", {Measured("n0", 2), Measured("n1", 2), Measured("n2", 2)}); }
// n0 is slower, n1 faster.
NamedRun Fresh() {
  return RunOf("new", {Measured("n0", 3), Measured("n1", 1.5), Measured("n2", 2)});
}

CompareResult Held(const NamedRun& base, const NamedRun& contender, const NamedRun& again) {
  CheckRerun(contender, again);
  auto result = Compare(base, contender, fakes::Options());
  Confirm(again, result);
  return result;
}

TEST(RerunCheck, VerdictsWithoutItsTimesRemain) {
  const auto base = Base(), contender = Fresh();
  const auto again =
      RunOf("again", {Measured("n0", 2, 3), Measured("n2", 2.02)});  // n0: 3 clean ones
  const auto result = Held(base, contender, again);
  EXPECT_THAT(fakes::Verdicts(result), ElementsAre("slower", "faster", "same"));
  EXPECT_EQ(result.rerun->unknown, 2);
  EXPECT_EQ(result.exit_code, 1);
}

TEST(RerunCheck, WorksWithStoredRunsToo) {
  const std::vector<NamedRun> stored = {Base(), Base(), RunOf("older", {Measured("n3", 2)})};
  const auto contender = RunOf("new", {Measured("n0", 3), Measured("n1", 3), Measured("n3", 3)});
  const auto again = RunOf("again", {Measured("n0", 3.1), Measured("n1", 2), Measured("n3", 2)});
  const auto options = fakes::Options();
  EXPECT_THAT(fakes::Verdicts(CompareWithStored(stored, contender, options)),
              ElementsAre("slower", "slower", "slower", "-gone"));
  auto result = CompareWithStored(stored, contender, options);
  Confirm(again, result);
  EXPECT_THAT(fakes::Verdicts(result), ElementsAre("slower", "ambiguous", "ambiguous", "-gone"));
  EXPECT_EQ(result.rerun.value().retracted, 2);
}

TEST(RerunCheck, IsOfTheSameBuildElseRefused) {
  const auto base = Base(), contender = Fresh();
  auto again = RunOf("again", {Measured("n0", 2)});
  again.file.context["dlroof"]["commit"] = "another";
  EXPECT_THAT(fakes::RefusalOf(Held, base, contender, again),
              AllOf(HasSubstr("again: expected a second run of the build and settings of new"),
                    HasSubstr("commit: none -> another")));
}

// When a comparison of two programs has enough blocks.

using statistics::kLooks, statistics::MeasureSequentialShift;

enum class Said { kSame, kSlower, kFaster, kNothing };

// A comparison as `dlroof run --ab` makes it: a look at each of kLooks until it is settled. Blocks
// scatter by Student's t with 3 degrees of freedom, so that some are outliers.
Said Compared(double log_ratio, double scatter, const StopRule& rule, std::mt19937& engine) {
  std::student_t_distribution<double> noise(3);
  std::vector<double> blocks;
  for (const int look : kLooks) {
    while (static_cast<int>(blocks.size()) < look)
      blocks.push_back(log_ratio + scatter * noise(engine));
    const auto paired = MeasureSequentialShift(blocks);
    if (!IsSettled(*paired, rule)) continue;
    const double bound = std::log1p(rule.min_effect);
    if (std::abs(paired->log_ratio) <= bound) return Said::kSame;
    return paired->log_ratio > 0 ? Said::kSlower : Said::kFaster;
  }
  return Said::kNothing;
}

int Count(Said wanted, double log_ratio, double scatter, const StopRule& rule) {
  std::mt19937 engine(1);
  int count = 0;
  for (int i = 0; i < 1000; ++i)
    count += Compared(log_ratio, scatter, rule, engine) == wanted ? 1 : 0;
  return count;
}

TEST(Sequential, SettlesWhenNoOtherBenchmarkCanTakeItBack) {
  // 0.0098 of at most 0.01 for one benchmark; of 20, the control of false discoveries may ask for
  // 0.05 / 20.
  const auto paired = *MeasureSequentialShift(std::vector<double>(10, 0.05));
  EXPECT_TRUE(IsSettled(paired, {1, 0.02}));
  EXPECT_FALSE(IsSettled(paired, {20, 0.02}));
  EXPECT_TRUE(IsSettled(*MeasureSequentialShift(std::vector<double>(14, 0.05)), {20, 0.02}));
}

TEST(Sequential, SettlesWhenTheIntervalLiesWithinTheMinimumEffect) {
  const auto paired = *MeasureSequentialShift(std::vector<double>(10, 0.015));
  EXPECT_TRUE(IsSettled(paired, {20, 0.02}));
  EXPECT_FALSE(IsSettled(paired, {20, 0.01}));
}

TEST(Sequential, FiveLooksRaiseNoMoreThanOneFalseAlarmInAHundred) {
  // So noisy that the minimum effect keeps nothing out. 1 % of 1000, and 2.6 deviations of that
  // count.
  const StopRule rule{1, 0.001};
  EXPECT_LE(Count(Said::kSlower, 0, 0.05, rule) + Count(Said::kFaster, 0, 0.05, rule), 18);
}

TEST(Sequential, FindsFivePercentInBlocksThatScatterByOnePercent) {
  EXPECT_GE(Count(Said::kSlower, std::log(1.05), 0.01, {8, 0.02}), 990);
  EXPECT_GE(Count(Said::kSame, 0, 0.01, {8, 0.02}), 950);
}

}  // namespace
}  // namespace dlroof::supervise
