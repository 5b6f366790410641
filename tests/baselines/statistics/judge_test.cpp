#include "baselines/statistics/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <tuple>

namespace dlroof::statistics {
namespace {

using testing::HasSubstr;

// A shift of `ratio` whose 95 % interval within the runs is 1.96 standard errors to each side.
Candidate At(double ratio, double standard_error) {
  Shift shift;
  shift.log_ratio = std::log(ratio);
  shift.standard_error = standard_error;
  shift.ci95 = {shift.log_ratio - 1.96 * standard_error, shift.log_ratio + 1.96 * standard_error};
  shift.degrees = 14;
  return {shift, std::nullopt};
}

JudgeSettings Settings(double min_effect, double run_noise) {
  return JudgeSettings{.min_effect = min_effect, .run_noise = run_noise};
}

Verdict JudgeOne(const Candidate& candidate, const JudgeSettings& settings) {
  return Judge({candidate}, settings).each.at(0).verdict;
}

TEST(Judge, CallsWhatIsSureAndLargeEnough) {
  const auto settings = Settings(0.03, 0);
  EXPECT_EQ(JudgeOne(At(1.06, 0.004), settings), Verdict::kSlower);
  EXPECT_EQ(JudgeOne(At(1 / 1.06, 0.004), settings), Verdict::kFaster);
  EXPECT_EQ(JudgeOne(At(1.00, 0.004), settings), Verdict::kSame);
  EXPECT_EQ(JudgeOne(At(1.02, 0.004), settings), Verdict::kSame);  // certainly slower, by little
}

TEST(Judge, InBetweenIsAmbiguousWithAReason) {
  const auto settings = Settings(0.03, 0);
  const auto wide = Judge({At(1.05, 0.05)}, settings).each.at(0);
  EXPECT_EQ(wide.verdict, Verdict::kAmbiguous);
  EXPECT_THAT(wide.reason, HasSubstr("too uncertain: unchanged, or changed by more than 3.0 %"));
  const auto near = Judge({At(1.028, 0.005)}, settings).each.at(0);
  EXPECT_EQ(near.verdict, Verdict::kAmbiguous);
  EXPECT_THAT(near.reason, HasSubstr("moved, but perhaps by less than 3.0 %"));
}

TEST(Judge, NoiseBetweenRunsWidensTheInterval) {
  // Within 0.004, between sqrt(2) * 0.03: what was slower by 1.06 may be noise.
  EXPECT_EQ(JudgeOne(At(1.06, 0.004), Settings(0.03, 0.03)), Verdict::kAmbiguous);
  const auto judged = Judge({At(1.0, 0.0)}, Settings(0.03, 0.03)).each.at(0);
  // Student's quantile for known noise is the normal one (to half a percent).
  EXPECT_NEAR(std::log(judged.ci95.second), 1.96 * std::sqrt(2) * 0.03, 0.001);
  EXPECT_NEAR(std::log(judged.ci95.first), -1.96 * std::sqrt(2) * 0.03, 0.001);
}

TEST(Judge, ManyBenchmarksRaiseTheBar) {
  // 2.3 standard errors: p is about 0.04 for one, insignificant among 100.
  const auto candidate = At(1.06, std::log(1.06) / 2.3);
  EXPECT_EQ(JudgeOne(candidate, Settings(0.03, 0)), Verdict::kSlower);
  std::vector<Candidate> many(100, At(1.0, 0.02));
  many[7] = candidate;
  const auto judged = Judge(many, Settings(0.03, 0));
  EXPECT_EQ(judged.each[7].verdict, Verdict::kAmbiguous);
  EXPECT_THAT(judged.each[7].reason, HasSubstr("can be chance"));
  // 8 standard errors are significant among 100, too.
  many[7] = At(1.06, std::log(1.06) / 8);
  EXPECT_EQ(Judge(many, Settings(0.03, 0)).each[7].verdict, Verdict::kSlower);
}

TEST(Judge, DefaultMinimumEffectIsWhatTheRunsCanTell) {
  JudgeSettings settings{.run_noise = 0};
  // 3.24 standard errors of 1 %: 3.3 %; at least 2, at most 10 %.
  EXPECT_NEAR(Judge({At(1, 0.01)}, settings).min_effect, std::expm1(0.0324), 1e-9);
  EXPECT_DOUBLE_EQ(Judge({At(1, 0.001)}, settings).min_effect, 0.02);
  EXPECT_DOUBLE_EQ(Judge({At(1, 0.5)}, settings).min_effect, 0.10);
  EXPECT_THAT(Judge({At(1, 0.01)}, settings).min_effect_from, HasSubstr("1.0 %"));
}

std::vector<Candidate> Scattered(int count, double ratio, double scatter, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> gauss(0, scatter);
  std::vector<Candidate> candidates;
  for (int i = 0; i < count; ++i) candidates.push_back(At(ratio * std::exp(gauss(random)), 0.003));
  return candidates;
}

TEST(Judge, AFactorOfAllBeyondADriftMeansThatAllAreSlower) {
  const auto judged = Judge(Scattered(200, 1.2, 0.005, 1), JudgeSettings());
  ASSERT_TRUE(judged.common.has_value());
  EXPECT_TRUE(judged.common->is_unexplained);
  for (const auto& each : judged.each) EXPECT_EQ(each.verdict, Verdict::kSlower);
}

TEST(Judge, ASmallFactorOfAllIsOneQuestionAndNot200Regressions) {
  auto candidates = Scattered(200, 1.09, 0.005, 1);
  candidates[3] = At(1.5, 0.003);  // and one that is slower still
  const auto judged = Judge(candidates, JudgeSettings());
  ASSERT_TRUE(judged.common.has_value());
  EXPECT_NEAR(std::exp(judged.common->log_ratio), 1.09, 0.005);
  EXPECT_TRUE(judged.common->is_unexplained);
  EXPECT_EQ(judged.common->same_way, 200);
  EXPECT_THAT(Describe(*judged.common),
              HasSubstr("200 of 200 benchmarks are slower by about the same factor, 1.09"));
  int slower = 0;
  for (const auto& each : judged.each) slower += each.verdict == Verdict::kSlower ? 1 : 0;
  EXPECT_EQ(slower, 1);
  EXPECT_EQ(judged.each[3].verdict, Verdict::kSlower);
  EXPECT_TRUE(judged.each[4].moved_with_run);
}

TEST(Judge, RoofsShowWhetherTheMachineCausedACommonShift) {
  for (const auto& [roof_log_ratio, evidence, verdict, text] :
       {std::tuple(0.002, RoofEvidence::kDidNotMove, Verdict::kSlower,
                   "build, library or settings"),
        {std::log(1.19), RoofEvidence::kMovedToo, Verdict::kAmbiguous, "so the machine changed"}}) {
    auto candidates = Scattered(200, 1.2, 0.005, 1);
    for (auto& candidate : candidates) candidate.roof_log_ratio = roof_log_ratio;
    const auto judged = Judge(candidates, JudgeSettings());
    ASSERT_TRUE(judged.common.has_value());
    EXPECT_EQ(judged.common->roofs, evidence);
    EXPECT_THAT(Describe(*judged.common), HasSubstr(text));
    for (const auto& each : judged.each) EXPECT_EQ(each.verdict, verdict);
  }
}

TEST(Judge, AFewOrManyDifferentRegressionsAreNoMachineChange) {
  EXPECT_FALSE(Judge(Scattered(9, 1.2, 0.001, 2), JudgeSettings()).common.has_value());
  auto half = Scattered(50, 1.2, 0.005, 3);
  const auto others = Scattered(50, 1.0, 0.005, 4);
  half.insert(half.end(), others.begin(), others.end());
  EXPECT_FALSE(Judge(half, JudgeSettings()).common.has_value());
  std::vector<Candidate> spread;
  for (int i = 0; i < 40; ++i) spread.push_back(At(1.1 + 0.05 * i, 0.003));
  const auto judged = Judge(spread, JudgeSettings());
  EXPECT_FALSE(judged.common.has_value());
  EXPECT_EQ(judged.each[39].verdict, Verdict::kSlower);
}

TEST(Judge, SecondsAndRoofThatDisagreeAreAmbiguousAndSaySo) {
  auto candidate = At(1.12, 0.004);
  candidate.roof_log_ratio = std::log(1.11);
  const auto judged = Judge({candidate}, Settings(0.03, 0.005)).each.at(0);
  EXPECT_EQ(judged.verdict, Verdict::kAmbiguous);
  EXPECT_THAT(judged.reason, HasSubstr("seconds and percent of roof disagree: slower by 1.120 in "
                                       "seconds, 1.009"));
  candidate.roof_log_ratio = std::log(1.01);
  EXPECT_EQ(JudgeOne(candidate, Settings(0.03, 0.005)), Verdict::kSlower);
}

TEST(DeviationBetweenRuns, FindsTheExcessOverTheRepetitions) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> gauss;
  std::vector<Shift> shifts;
  for (int i = 0; i < 2000; ++i) {
    Shift shift = At(1, 0.01).shift;
    // Both runs deviate by 0.02; all of the second by 0.05 more.
    shift.log_ratio = 0.05 + std::hypot(0.01, std::sqrt(2) * 0.02) * gauss(random);
    shifts.push_back(shift);
  }
  EXPECT_NEAR(DeviationBetweenRuns(shifts).value(), 0.02, 0.002);
  // A fifth of true changes, all in one direction, raises it by less than a half.
  for (int i = 0; i < 400; ++i) shifts[i * 5].log_ratio += 0.5;
  EXPECT_LT(DeviationBetweenRuns(shifts).value(), 0.03);
  shifts.resize(kMinShifts - 1);
  EXPECT_FALSE(DeviationBetweenRuns(shifts).has_value());
}

TEST(DeviationBetweenRuns, StaysBetweenItsBounds) {
  std::vector<Shift> alike(30, At(1, 0.01).shift), apart;
  for (int i = 0; i < 30; ++i) apart.push_back(At(1 + 0.1 * i, 0.001).shift);
  EXPECT_EQ(DeviationBetweenRuns(alike), kMinRunNoise);
  EXPECT_EQ(DeviationBetweenRuns(apart), kMaxRunNoise);
}

// A machine that halves its speed for some benchmarks of either run, and a program of which most
// parts became slower.
TEST(DeviationBetweenRuns, ExceedsTheCapOnlyWhereAsManyBecameFaster) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> gauss(0, 0.2 * std::sqrt(2));
  std::vector<Shift> both, worse;
  for (int i = 0; i < 400; ++i) {
    both.push_back(At(std::exp(gauss(random)), 0.01).shift);
    worse.push_back(At(std::exp(std::abs(gauss(random))), 0.01).shift);
  }
  EXPECT_NEAR(DeviationBetweenRuns(both).value(), 0.2, 0.03);
  EXPECT_EQ(DeviationBetweenRuns(worse), kMaxRunNoise);
  EXPECT_THAT(EstimateRunNoise({}, both).from,
              HasSubstr("moved in both directions: the machine's state changed"));
  EXPECT_THAT(EstimateRunNoise({}, worse).from,
              testing::Not(HasSubstr("moved in both directions: the machine's state changed")));
}

// Two of three of 45 benchmarks met a neighbour in one of the two runs.
TEST(Judge, BenchmarksThatMoveBothWaysByChanceAreNoRegressions) {
  constexpr double kMoved[] = {1.6, 1 / 1.6, 1.0};
  std::vector<Candidate> candidates;
  for (int i = 0; i < 45; ++i) candidates.push_back(At(kMoved[i % 3] + 0.002 * (i % 7 - 3), 0.01));
  for (const auto& each : Judge(candidates, JudgeSettings()).each)
    EXPECT_EQ(each.verdict, Verdict::kAmbiguous);
}

TEST(EstimateRunNoise, SaysWhereItComesFrom) {
  const std::vector<Shift> few(3, At(1, 0.01).shift), quiet(40, At(1, 0.01).shift);
  std::vector<Shift> noisy;
  for (int i = 0; i < 40; ++i) noisy.push_back(At(1 + (i % 2 == 0 ? 0.03 : -0.03), 0.001).shift);
  EXPECT_EQ(EstimateRunNoise({}, few).deviation, kUsualRunNoise);
  EXPECT_THAT(EstimateRunNoise({}, few).from, HasSubstr("assumed"));
  EXPECT_THAT(EstimateRunNoise({}, quiet).from, HasSubstr("these two runs"));
  EXPECT_THAT(EstimateRunNoise(noisy, quiet).from, HasSubstr("stored"));
  EXPECT_GT(EstimateRunNoise(quiet, noisy).deviation, 0.01);
}

struct Rates {
  double covered = 0, called = 0, same = 0;
};

// A/A comparisons of 60 benchmarks with 5 to 9 clean repetitions each, of heavy-tailed noise, whose
// runs deviate by 1 % more than their repetitions do, and drift by up to 1 % together.
Rates Simulate(double true_ratio, int rounds) {
  std::mt19937_64 random(13);
  std::student_t_distribution<double> repetition(4);
  std::normal_distribution<double> run(0, 0.01);
  std::uniform_int_distribution<int> clean(5, 9);
  std::uniform_real_distribution<double> drift(-0.01, 0.01);
  int all = 0, covered = 0, called = 0, same = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Candidate> candidates;
    const double common = drift(random);
    for (int i = 0; i < 60; ++i) {
      const double truth = i < 6 ? std::log(true_ratio) : 0;
      std::vector<double> base(clean(random)), contender(clean(random));
      const double a = run(random), b = run(random) + common + truth;
      for (double& value : base) value = std::exp(a + 0.01 * repetition(random));
      for (double& value : contender) value = std::exp(b + 0.01 * repetition(random));
      candidates.push_back({MeasureShift(base, contender).value(), std::nullopt});
    }
    const auto judged = Judge(candidates, JudgeSettings());
    for (int i = 0; i < 60; ++i) {
      const bool counted = true_ratio == 1 || i < 6;
      if (!counted) continue;
      const auto& each = judged.each[i];
      ++all;
      covered += each.ci95.first <= true_ratio && true_ratio <= each.ci95.second ? 1 : 0;
      called += each.verdict == Verdict::kSlower || each.verdict == Verdict::kFaster ? 1 : 0;
      same += each.verdict == Verdict::kSame ? 1 : 0;
    }
  }
  return {1.0 * covered / all, 1.0 * called / all, 1.0 * same / all};
}

TEST(Judge, FalseAlarmsAreRareAndIntervalsCover) {
  const auto unchanged = Simulate(1, 200);
  EXPECT_LT(unchanged.called, 0.005);
  EXPECT_GE(unchanged.covered, 0.945);
  EXPECT_GT(unchanged.same, 0.5);
}

TEST(Judge, WhatIsTwiceTheNoiseIsFound) {
  const auto slower = Simulate(1.12, 200);
  EXPECT_GT(slower.called, 0.95);
  EXPECT_EQ(slower.same, 0);
}

}  // namespace
namespace {

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
    if (std::abs(paired->shift.log_ratio) <= bound) return Said::kSame;
    return paired->shift.log_ratio > 0 ? Said::kSlower : Said::kFaster;
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

TEST(Sequential, APValuePaysForAllLooks) {
  // Ten of ten slower: 2 / 1024, five times.
  const auto paired = MeasureSequentialShift(std::vector<double>(10, 0.05));
  ASSERT_TRUE(paired);
  EXPECT_DOUBLE_EQ(paired->p_value, 5 * 2.0 / 1024);
  EXPECT_FALSE(MeasureSequentialShift(std::vector<double>(kMinBlocks - 1, 0.05)));
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
}  // namespace dlroof::statistics
