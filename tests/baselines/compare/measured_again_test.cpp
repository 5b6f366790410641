#include "baselines/compare/measured_again.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "baselines/compare/compare_stored.h"
#include "baselines/formats/write_comparison.h"
#include "counters/base/error.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/small_run.h"
#include "tests/fakes/verdicts.h"

namespace dlroof {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

NamedRun Base() { return RunOf("base", {Measured("n0", 2), Measured("n1", 2), Measured("n2", 2)}); }
// n0 is slower, n1 faster.
NamedRun Fresh() {
  return RunOf("new", {Measured("n0", 3), Measured("n1", 1.5), Measured("n2", 2)});
}

CompareResult Held(const NamedRun& base, const NamedRun& fresh, const NamedRun& again) {
  auto options = Options();
  options.again = &again;
  return Compare(base, fresh, options);
}

TEST(MeasuredAgain, TakesBackWhatAnotherProcessDoesNotShow) {
  const auto base = Base(), fresh = Fresh();
  ASSERT_THAT(Verdicts(Compare(base, fresh, Options())), ElementsAre("slower", "faster", "same"));
  const auto again = RunOf("again.json", {Measured("n0", 2), Measured("n1", 1.4)});
  const auto result = Held(base, fresh, again);
  EXPECT_THAT(Verdicts(result), ElementsAre("ambiguous", "faster", "same"));
  EXPECT_EQ(result.rows[0].reason, "slower in NEW, but not when measured again (again.json)");
  EXPECT_EQ(result.exit_code, 0);
  ASSERT_TRUE(result.again);
  EXPECT_EQ(result.again->taken_back, 1);
  EXPECT_EQ(result.again->unknown, 0);
  EXPECT_EQ(result.count.at(Verdict::kAmbiguous), 1);
}

TEST(MeasuredAgain, TheOtherWayIsNotTheSameWay) {
  const auto base = Base(), fresh = Fresh();
  const auto again = RunOf("again", {Measured("n0", 1.4), Measured("n1", 2.6)});
  EXPECT_THAT(Verdicts(Held(base, fresh, again)), ElementsAre("ambiguous", "ambiguous", "same"));
}

TEST(MeasuredAgain, WhatItHasNoTimesOfStands) {
  const auto base = Base(), fresh = Fresh();
  const auto again =
      RunOf("again", {Measured("n0", 2, 3), Measured("n2", 2.02)});  // n0: 3 clean ones
  const auto result = Held(base, fresh, again);
  EXPECT_THAT(Verdicts(result), ElementsAre("slower", "faster", "same"));
  EXPECT_EQ(result.again->unknown, 2);
  EXPECT_EQ(result.exit_code, 1);
}

TEST(MeasuredAgain, HoldsBesideStoredRunsToo) {
  const std::vector<NamedRun> stored = {Base(), Base(), RunOf("older", {Measured("n3", 2)})};
  const auto fresh = RunOf("new", {Measured("n0", 3), Measured("n1", 3), Measured("n3", 3)});
  const auto again = RunOf("again", {Measured("n0", 3.1), Measured("n1", 2), Measured("n3", 2)});
  auto options = Options();
  EXPECT_THAT(Verdicts(CompareWithStored(stored, fresh, options)),
              ElementsAre("slower", "slower", "slower", "-gone"));
  options.again = &again;
  const auto result = CompareWithStored(stored, fresh, options);
  EXPECT_THAT(Verdicts(result), ElementsAre("slower", "ambiguous", "ambiguous", "-gone"));
  ASSERT_TRUE(result.again);
  EXPECT_EQ(result.again->taken_back, 2) << "of both parts";
}

TEST(MeasuredAgain, IsOfTheSameBuildElseRefused) {
  const auto base = Base(), fresh = Fresh();
  auto again = RunOf("again", {Measured("n0", 2)});
  again.file.context["dlroof"]["commit"] = "another";
  EXPECT_THAT(RefusalOf([&] { Held(base, fresh, again); }),
              AllOf(HasSubstr("again: expected another run of what new measured"),
                    HasSubstr("commit: none -> another")));
  EXPECT_THROW(Held(base, fresh, RunOf("again", {Measured("n0", 3)})), BadInput)
      << "the same repetitions";
}

TEST(MeasuredAgain, IsAskedForWhereSomethingMoved) {
  const auto base = Base(), fresh = Fresh();
  const auto asks = HasSubstr("--again FILE");
  EXPECT_THAT(RemarksOf(Compare(base, fresh, Options())), Contains(asks));
  EXPECT_THAT(RemarksOf(Compare(base, base, Options())), Not(Contains(asks)));
  const auto again = RunOf("again.json", {Measured("n0", 3.1), Measured("n1", 2)});
  const auto remarks = RemarksOf(Held(base, fresh, again));
  EXPECT_THAT(remarks, Not(Contains(asks)));
  EXPECT_THAT(remarks, Contains("held against again.json: 1 slower or faster in NEW alone, 0 "
                                "without enough times there"));
}

}  // namespace
}  // namespace dlroof
