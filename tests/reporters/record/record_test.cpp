#include "reporters/record/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlroof {
namespace {

std::vector<Repetition> Times(std::initializer_list<double> seconds) {
  std::vector<Repetition> repetitions;
  for (const double value : seconds) repetitions.push_back({.seconds = value});
  return repetitions;
}

TEST(Summarize, IsTheMedianOfTheCleanRepetitionsOnly) {
  auto repetitions = Times({1, 2, 3, 4, 5, 6, 100});
  repetitions[6].disturbed = true;
  const auto timing = Summarize(repetitions).value();
  EXPECT_EQ(timing.median, 3.5);
  EXPECT_EQ(timing.clean, 6);
  EXPECT_EQ(timing.ci95, (std::pair<double, double>{1, 6}));  // n = 6: minimum and maximum, 96.9 %
}

TEST(Summarize, CannotSayWithFewerThanThreeCleanOnes) {
  auto repetitions = Times({1, 2, 3, 4});
  repetitions[0].disturbed = repetitions[1].disturbed = true;
  EXPECT_FALSE(Summarize(repetitions).has_value());
  EXPECT_FALSE(Summarize({}).has_value());
}

TEST(Summarize, CannotSayWhereMostRepetitionsWereDisturbed) {
  auto repetitions = Times({1, 1, 1, 1, 2, 2, 2, 2});
  for (std::size_t i = 4; i < repetitions.size(); ++i) repetitions[i].disturbed = true;
  EXPECT_EQ(Summarize(repetitions).value().median, 1);
  repetitions.push_back(repetitions.back());
  EXPECT_FALSE(Summarize(repetitions).has_value());
  EXPECT_TRUE(TimeOf(repetitions).value().disturbed);
}

TEST(Summarize, OneRepetitionAskedForIsEnoughAndHasNoInterval) {
  const auto timing = Summarize(Times({2})).value();
  EXPECT_EQ(timing.median, 2);
  EXPECT_FALSE(timing.ci95.has_value());
}

TEST(TimeOf, IsOfTheCleanRepetitionsWhereTheyAreEnough) {
  auto repetitions = Times({1, 2, 3, 100});
  repetitions[3].disturbed = true;
  const auto timing = TimeOf(repetitions).value();
  EXPECT_EQ(timing.median, 2);
  EXPECT_FALSE(timing.disturbed);
  EXPECT_FALSE(TimeOf({}).has_value());
}

// Two calls of 1 s: the first waited 0.75 s for a CPU, of which the other thread's spinning main
// thread ran 0.25 s; the second had 0.8 of its core, so a whole one needs 0.8 s at least.
TEST(TimeOf, WithoutEnoughCleanOnesLeavesOutTheWaitsAndSaysSo) {
  auto repetitions = Times({1.75, 1, 1.1});
  repetitions[0] = {.seconds = 1.75, .main_cpu_seconds = 1.25, .run_delay_seconds = 1.5};
  repetitions[1].core_share = 0.8;
  repetitions[0].disturbed = repetitions[1].disturbed = true;
  const auto timing = TimeOf(repetitions).value();
  EXPECT_TRUE(timing.disturbed);
  EXPECT_EQ(timing.clean, 1);
  EXPECT_EQ(timing.median, 1);  // the fastest
  EXPECT_DOUBLE_EQ(timing.ci95.value().first, 0.8 * 0.8);
  EXPECT_DOUBLE_EQ(timing.ci95.value().second, 1.1 * 1.25);
}

// A main thread that sleeps while others work: only the waits that were seen are left out.
TEST(TimeOf, NeverLeavesOutMoreThanTheWaits) {
  std::vector<Repetition> repetitions(
      3, {.seconds = 1, .main_cpu_seconds = 0.1, .run_delay_seconds = 0.25, .disturbed = true});
  EXPECT_EQ(TimeOf(repetitions).value().median, 0.75);
}

TEST(MarkDisturbed, WaitingForACpuMoreThanOnePercent) {
  auto repetitions = Times({1, 1, 1});
  repetitions[0].run_delay_seconds = 0.009;
  repetitions[1].run_delay_seconds = 0.011;
  MarkDisturbed(repetitions);
  EXPECT_FALSE(repetitions[0].disturbed);
  EXPECT_TRUE(repetitions[1].disturbed);
  EXPECT_FALSE(repetitions[2].disturbed);  // not known is not guilty
}

TEST(MarkDisturbed, AMainThreadThatAlwaysWaitsForAWorkerIsNotDisturbed) {
  auto repetitions = Times({1, 1, 1});
  for (auto& repetition : repetitions) repetition.main_cpu_seconds = 0.6;
  MarkDisturbed(repetitions);
  for (const auto& repetition : repetitions) EXPECT_FALSE(repetition.disturbed);
  repetitions[1].main_cpu_seconds = 0.57;  // off its CPU for 43 %, the best for 40 %: 3 % more
  MarkDisturbed(repetitions);
  EXPECT_TRUE(repetitions[1].disturbed);
  EXPECT_FALSE(repetitions[0].disturbed);
}

TEST(MarkDisturbed, LessThanNineTenthsOfTheCore) {
  auto repetitions = Times({1, 1, 1});
  repetitions[0].core_share = 0.91;
  repetitions[1].core_share = 0.89;
  MarkDisturbed(repetitions);
  EXPECT_FALSE(repetitions[0].disturbed);
  EXPECT_TRUE(repetitions[1].disturbed);
  EXPECT_FALSE(repetitions[2].disturbed);  // not looked at
}

TEST(MarkDisturbed, ThreadsThreeTimesAsFarApartAsTheNearest) {
  auto repetitions = Times({1, 1, 1});
  repetitions[0].link_share = 0.31;
  repetitions[1].link_share = 0.29;
  MarkDisturbed(repetitions);
  EXPECT_FALSE(repetitions[0].disturbed);
  EXPECT_TRUE(repetitions[1].disturbed);
}

// Each left out some of its ten calls; in the last one even the others waited.
TEST(TimeOf, IsTheMedianOfPartsBesideOtherProgramsAndSaysSo) {
  auto repetitions = Times({10, 12, 11, 80});
  for (auto& repetition : repetitions) {
    repetition.iterations = 10;
    repetition.clean_calls = 3;
  }
  repetitions[3].run_delay_seconds = 40;
  MarkDisturbed(repetitions);
  EXPECT_FALSE(Summarize(repetitions));
  const auto timing = TimeOf(repetitions).value();
  EXPECT_TRUE(timing.disturbed);
  EXPECT_EQ(timing.median, 11);
  EXPECT_EQ(timing.clean, 0);
  EXPECT_DOUBLE_EQ(timing.ci95.value().first, 8.5);
  EXPECT_DOUBLE_EQ(timing.ci95.value().second, 13.2);
  repetitions[0].clean_calls = 10;  // none was left out
  MarkDisturbed(repetitions);
  EXPECT_FALSE(repetitions[0].disturbed);
}

// Near each other the threads may take as much less as the line does.
TEST(TimeOf, OfThreadsFarApartHasNearOnesInItsInterval) {
  auto repetitions = Times({1});
  repetitions[0].link_share = 0.25;
  repetitions[0].disturbed = true;
  EXPECT_DOUBLE_EQ(TimeOf(repetitions).value().ci95.value().first, 0.8 * 0.25);
}

TEST(SplitName, TakesPartsAndOptionsAndLeavesForeignNamesShort) {
  Record record{.name = "LSTM/cpu/onednn/bwd/bf16/t1n2i3h4/cold/nhwc"};
  SplitName(record);
  EXPECT_EQ(record.op, "LSTM");
  EXPECT_EQ(record.problem, "t1n2i3h4");
  EXPECT_THAT(record.options, testing::ElementsAre("cold", "nhwc"));
  Record foreign{.name = "BM_Sort/1024"};
  SplitName(foreign);
  EXPECT_EQ(foreign.op, "BM_Sort");
  EXPECT_EQ(foreign.device, "1024");
  EXPECT_EQ(foreign.library, "");
}

}  // namespace
}  // namespace dlroof
