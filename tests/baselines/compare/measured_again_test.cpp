#include "baselines/compare/measured_again.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "baselines/compare/compare_stored.h"
#include "baselines/formats/write_comparison.h"
#include "counters/base/error.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/small_run.h"
#include "tests/fakes/verdicts.h"

namespace dlroof::compare {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

NamedRun Base() { return fakes::RunOf("base", {fakes::Measured("n0", 2), fakes::Measured("n1", 2), fakes::Measured("n2", 2)}); }
// n0 is slower, n1 faster.
NamedRun Fresh() {
  return fakes::RunOf("new", {fakes::Measured("n0", 3), fakes::Measured("n1", 1.5), fakes::Measured("n2", 2)});
}

CompareResult Held(const NamedRun& base, const NamedRun& fresh, const NamedRun& again) {
  auto options = fakes::Options();
  options.again = &again;
  return Compare(base, fresh, options);
}

TEST(MeasuredAgain, TakesBackWhatAnotherProcessDoesNotShow) {
  const auto base = Base(), fresh = Fresh();
  ASSERT_THAT(fakes::Verdicts(Compare(base, fresh, fakes::Options())), ElementsAre("slower", "faster", "same"));
  const auto again = fakes::RunOf("again.json", {fakes::Measured("n0", 2), fakes::Measured("n1", 1.4)});
  const auto result = Held(base, fresh, again);
  EXPECT_THAT(fakes::Verdicts(result), ElementsAre("ambiguous", "faster", "same"));
  EXPECT_EQ(result.rows[0].reason, "slower in NEW, but not when measured again (again.json)");
  EXPECT_EQ(result.exit_code, 0);
  ASSERT_TRUE(result.again);
  EXPECT_EQ(result.again->taken_back, 1);
  EXPECT_EQ(result.again->unknown, 0);
  EXPECT_EQ(result.count.at(statistics::Verdict::kAmbiguous), 1);
}

TEST(MeasuredAgain, TheOtherWayIsNotTheSameWay) {
  const auto base = Base(), fresh = Fresh();
  const auto again = fakes::RunOf("again", {fakes::Measured("n0", 1.4), fakes::Measured("n1", 2.6)});
  EXPECT_THAT(fakes::Verdicts(Held(base, fresh, again)), ElementsAre("ambiguous", "ambiguous", "same"));
}

TEST(MeasuredAgain, WhatItHasNoTimesOfStands) {
  const auto base = Base(), fresh = Fresh();
  const auto again =
      fakes::RunOf("again", {fakes::Measured("n0", 2, 3), fakes::Measured("n2", 2.02)});  // n0: 3 clean ones
  const auto result = Held(base, fresh, again);
  EXPECT_THAT(fakes::Verdicts(result), ElementsAre("slower", "faster", "same"));
  EXPECT_EQ(result.again->unknown, 2);
  EXPECT_EQ(result.exit_code, 1);
}

TEST(MeasuredAgain, HoldsBesideStoredRunsToo) {
  const std::vector<NamedRun> stored = {Base(), Base(), fakes::RunOf("older", {fakes::Measured("n3", 2)})};
  const auto fresh = fakes::RunOf("new", {fakes::Measured("n0", 3), fakes::Measured("n1", 3), fakes::Measured("n3", 3)});
  const auto again = fakes::RunOf("again", {fakes::Measured("n0", 3.1), fakes::Measured("n1", 2), fakes::Measured("n3", 2)});
  auto options = fakes::Options();
  EXPECT_THAT(fakes::Verdicts(CompareWithStored(stored, fresh, options)),
              ElementsAre("slower", "slower", "slower", "-gone"));
  options.again = &again;
  const auto result = CompareWithStored(stored, fresh, options);
  EXPECT_THAT(fakes::Verdicts(result), ElementsAre("slower", "ambiguous", "ambiguous", "-gone"));
  ASSERT_TRUE(result.again);
  EXPECT_EQ(result.again->taken_back, 2) << "of both parts";
}

TEST(MeasuredAgain, IsOfTheSameBuildElseRefused) {
  const auto base = Base(), fresh = Fresh();
  auto again = fakes::RunOf("again", {fakes::Measured("n0", 2)});
  again.file.context["dlroof"]["commit"] = "another";
  EXPECT_THAT(fakes::RefusalOf([&] { Held(base, fresh, again); }),
              AllOf(HasSubstr("again: expected another run of what new measured"),
                    HasSubstr("commit: none -> another")));
  EXPECT_THROW(Held(base, fresh, fakes::RunOf("again", {fakes::Measured("n0", 3)})), BadInput)
      << "the same repetitions";
}

TEST(MeasuredAgain, IsAskedForWhereSomethingMoved) {
  const auto base = Base(), fresh = Fresh();
  const auto asks = HasSubstr("--again FILE");
  EXPECT_THAT(formats::RemarksOf(Compare(base, fresh, fakes::Options())), Contains(asks));
  EXPECT_THAT(formats::RemarksOf(Compare(base, base, fakes::Options())), Not(Contains(asks)));
  const auto again = fakes::RunOf("again.json", {fakes::Measured("n0", 3.1), fakes::Measured("n1", 2)});
  const auto remarks = formats::RemarksOf(Held(base, fresh, again));
  EXPECT_THAT(remarks, Not(Contains(asks)));
  EXPECT_THAT(remarks, Contains("held against again.json: 1 slower or faster in NEW alone, 0 "
                                "without enough times there"));
}

}  // namespace
}  // namespace dlroof::compare
