#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "baselines/compare/write_comparison.h"
#include "bench/supervise/supervise.h"
#include "counters/base/error.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/small_run.h"
#include "tests/fakes/verdicts.h"

namespace dlroof::supervise {
namespace {

using compare::Compare, compare::CompareResult, compare::CompareWithStored, compare::NamedRun;
using fakes::Measured, fakes::RunOf;
using testing::AllOf, testing::Contains, testing::ElementsAre, testing::HasSubstr, testing::Not;

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

TEST(RerunCheck, RetractsWhatAnotherProcessDoesNotShow) {
  const auto base = Base(), contender = Fresh();
  ASSERT_THAT(fakes::Verdicts(Compare(base, contender, fakes::Options())),
              ElementsAre("slower", "faster", "same"));
  const auto again = RunOf("again.json", {Measured("n0", 2), Measured("n1", 1.4)});
  const auto result = Held(base, contender, again);
  EXPECT_THAT(fakes::Verdicts(result), ElementsAre("ambiguous", "faster", "same"));
  EXPECT_EQ(result.rows[0].reason, "slower in NEW, but not when measured again (again.json)");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.rerun.value().retracted, 1);
  EXPECT_EQ(result.rerun->unknown, 0);
  EXPECT_EQ(result.count.at(statistics::Verdict::kAmbiguous), 1);
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
  EXPECT_THAT(fakes::RefusalOf([&] { Held(base, contender, again); }),
              AllOf(HasSubstr("again: expected a second run of the build and settings of new"),
                    HasSubstr("commit: none -> another")));
}

TEST(RerunCheck, IsSuggestedIfSomethingMoved) {
  const auto base = Base(), contender = Fresh();
  const auto asks = HasSubstr("--again FILE");
  EXPECT_THAT(compare::RemarksOf(Compare(base, contender, fakes::Options())), Contains(asks));
  EXPECT_THAT(compare::RemarksOf(Compare(base, base, fakes::Options())), Not(Contains(asks)));
  const auto again = RunOf("again.json", {Measured("n0", 3.1), Measured("n1", 2)});
  const auto remarks = compare::RemarksOf(Held(base, contender, again));
  EXPECT_THAT(remarks, Not(Contains(asks)));
  EXPECT_THAT(remarks, Contains("checked against again.json: 1 slower or faster only in NEW, 0 "
                                "without enough times there"));
}

}  // namespace
}  // namespace dlroof::supervise
