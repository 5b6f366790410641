#include "baselines/statistics/judge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace dlroof::statistics {
namespace {

using testing::AnyOf, testing::HasSubstr;

// Runs of a made-up machine: repetitions with normal logarithms of 1 to 3 %, one in twenty
// disturbed by 30 % and half of these not marked, and a factor of each run, which its ceilings have
// too.
struct Law {
  int benchmarks = 60;
  int earlier = 0;
  double slower = 0.05;  // [1] of every tenth benchmark
  double every = 10;     // benchmarks of which one is slower; 0: none
  double drift = 0.03;   // [1] logarithm of the factor of NEW
  double between = 0;    // [1] deviation of one run of one benchmark
  int ceilings = 0;      // measured in both runs
  double ceilings_moved = 0.03;
  bool two_speeds = false;  // the first benchmark changes its speed between repetitions
};

Level LevelOf(const std::vector<double>& logs) {
  record::Record record;
  for (const double log : logs)
    record.repetitions.push_back({.seconds = std::exp(log), .iterations = 1});
  return LevelOfClean(record).value();
}

class Runs {
 public:
  Runs(const Law& law, unsigned seed) : law_(law), random_(seed) {}

  std::vector<Candidate> Make() {
    std::uniform_real_distribution<double> noise(0.01, 0.03), factor(0, 0.05);
    std::vector<double> factors;
    for (int run = 0; run < law_.earlier; ++run) factors.push_back(factor(random_));
    std::vector<Candidate> candidates;
    for (int i = 0; i < law_.benchmarks; ++i) {
      const double deviation = noise(random_);
      const bool jumps = law_.two_speeds && i == 0;
      Candidate candidate{};
      for (int run = 0; run < law_.earlier; ++run)
        candidate.earlier.push_back({run, LevelOf(Times(factors[run], deviation, jumps))});
      candidate.base = LevelOf(Times(0, deviation, jumps));
      const double change = IsSlower(i) ? std::log1p(law_.slower) : 0;
      candidate.contender = LevelOf(Times(law_.drift + change, deviation, jumps));
      candidates.push_back(std::move(candidate));
    }
    return candidates;
  }

  JudgeSettings Settings() const {
    JudgeSettings settings;
    if (law_.ceilings > 0) settings.machines[0] = {law_.ceilings_moved, 0.004, law_.ceilings};
    return settings;
  }

  bool IsSlower(int i) const {
    return law_.every > 0 && std::fmod(i, law_.every) == law_.every - 1;
  }

 private:
  std::vector<double> Times(double level, double deviation, bool jumps) {
    std::normal_distribution<double> gauss;
    std::uniform_real_distribution<double> chance;
    level += law_.between * gauss(random_);
    std::vector<double> logs;
    for (int i = 0; i < 10; ++i) {
      double one = level + deviation * gauss(random_);
      if (jumps && chance(random_) < 0.5) one += std::log(1.12);
      if (chance(random_) < 0.05) {
        if (chance(random_) < 0.5) continue;  // marked
        one += std::log(1.3);
      }
      logs.push_back(one);
    }
    return logs;
  }

  Law law_;
  std::mt19937_64 random_;
};

Judged JudgedRuns(const Law& law, unsigned seed) {
  Runs runs(law, seed);
  return Judge(runs.Make(), runs.Settings());
}

// Returns the number of benchmarks with the verdict slower.
std::ptrdiff_t SlowerIn(const Judged& judged) {
  return std::ranges::count(judged.each, Verdict::kSlower, &Judgement::verdict);
}

struct Found {
  double found = 0, wrong = 0, accused = 0, covered = 0;  // [1] shares; accused: slower
  double removed = 0;                                     // [1] mean logarithm
};

Found Simulate(const Law& law, int rounds) {
  Found sum;
  int slow = 0, unchanged = 0;
  for (int round = 0; round < rounds; ++round) {
    Runs runs(law, 100 + round);
    const auto judged = Judge(runs.Make(), runs.Settings());
    sum.removed += judged.common->removed.log_ratio / rounds;
    for (int i = 0; i < law.benchmarks; ++i) {
      const auto& each = judged.each[i];
      const double truth = runs.IsSlower(i) ? 1 + law.slower : 1;
      sum.covered += each.ci95.first <= truth && truth <= each.ci95.second ? 1 : 0;
      ++(runs.IsSlower(i) ? slow : unchanged);
      const double slower = each.verdict == Verdict::kSlower ? 1 : 0;
      (runs.IsSlower(i) ? sum.found : sum.accused) += slower;
      if (!runs.IsSlower(i)) sum.wrong += IsChange(each.verdict) ? 1 : 0;
    }
  }
  sum.covered /= slow + unchanged;
  if (slow > 0) sum.found /= slow;
  sum.wrong /= unchanged;
  sum.accused /= unchanged;
  return sum;
}

TEST(Judge, FindsFivePercentUnderADriftOfThreeAndNothingChangedIsRarelyAnAlarm) {
  const auto found = Simulate({}, 60);
  EXPECT_GE(found.found, 0.70);  // of one process, with noise of 1 to 3 % and disturbed repetitions
  EXPECT_LE(found.wrong, 0.01);
  EXPECT_GE(found.covered, 0.94);
  EXPECT_NEAR(found.removed, 0.03, 0.002);
  EXPECT_LE(Simulate({.every = 0}, 60).wrong, 0.005);
  EXPECT_LE(Simulate({.every = 0, .between = 0.02}, 60).accused, 0.01);
  EXPECT_LE(Simulate({.earlier = 10, .every = 0, .between = 0.02}, 30).wrong, 0.003);
}

TEST(Judge, EarlierRunsLowerTheError) {
  const auto few = Simulate({.earlier = 0, .slower = 0.03}, 40),
             many = Simulate({.earlier = 10, .slower = 0.03}, 40);
  EXPECT_GE(many.found, few.found + 0.1);
  EXPECT_LE(many.wrong, 0.01);
  EXPECT_GE(many.covered, 0.93);
}

TEST(Judge, CeilingsTellASlowdownOfTheWholeSuiteFromADriftThatIsRemovedHoweverLarge) {
  const auto slower = JudgedRuns({.every = 1, .drift = 0, .ceilings = 6, .ceilings_moved = 0}, 3);
  ASSERT_TRUE(slower.common);
  EXPECT_TRUE(slower.common->is_of_program);
  EXPECT_GE(SlowerIn(slower), 45);
  EXPECT_THAT(Describe(*slower.common).at(0), HasSubstr("the rest is of the program"));
  const auto drifted = JudgedRuns({.drift = 0.3, .ceilings = 6, .ceilings_moved = 0.3}, 4);
  EXPECT_NEAR(drifted.common->removed.log_ratio, 0.3, 0.01);
  EXPECT_FALSE(drifted.common->is_of_program);
  EXPECT_NE(drifted.each[0].verdict, Verdict::kSlower);
  EXPECT_NEAR(drifted.each[0].ratio, 1, 0.03);
  EXPECT_NEAR(drifted.each[0].removed, std::exp(0.3), 0.01);
}

// A person who sees all benchmarks at 1.3 or 3 times their time says that they are slower.
TEST(Judge, ALargeFactorThatNothingConfirmsIsNotRemovedAndASmallOneIsUnexplained) {
  for (const int benchmarks : {1, 3, 4, 5, 20, 100})
    for (const double factor : {1.3, 3.0}) {
      const auto judged =
          JudgedRuns({.benchmarks = benchmarks, .every = 0, .drift = std::log(factor)}, 5);
      EXPECT_EQ(judged.common->removed.log_ratio, 0);
      EXPECT_GE(SlowerIn(judged), (9 * benchmarks + 9) / 10) << benchmarks << " " << factor;
    }
  const auto judged = JudgedRuns({.every = 0, .drift = std::log(1.05)}, 5);
  ASSERT_TRUE(judged.common);
  EXPECT_FALSE(judged.common->machine);
  EXPECT_TRUE(judged.common->is_unexplained);
  EXPECT_NEAR(judged.common->all.log_ratio, std::log(1.05), 0.01);
  EXPECT_FALSE(JudgedRuns({.every = 10, .drift = 0}, 5).common->is_unexplained);
}

// If half of the benchmarks changed, no factor is common to all.
TEST(Judge, HalfOfTheBenchmarksDoNotMoveTheOthers) {
  for (const int benchmarks : {4, 20, 60}) {
    Runs runs({.benchmarks = benchmarks, .slower = 0.2, .every = 2, .drift = 0}, 8);
    const auto judged = Judge(runs.Make(), runs.Settings());
    int found = 0, accused = 0;
    for (int i = 0; i < benchmarks; ++i) {
      const auto verdict = judged.each[i].verdict;
      EXPECT_NE(verdict, Verdict::kFaster) << i;
      (runs.IsSlower(i) ? found : accused) += verdict == Verdict::kSlower ? 1 : 0;
    }
    EXPECT_GE(found, 2 * benchmarks / 5);
    EXPECT_EQ(accused, 0);
  }
}

TEST(Judge, OneBenchmarkAloneSaysThatNothingTellsTheDrift) {
  const auto judged = JudgedRuns({.benchmarks = 1, .every = 0, .drift = 0.04}, 6);
  EXPECT_THAT(Describe(*judged.common).at(0), HasSubstr("nothing tells"));
  EXPECT_NE(judged.each[0].verdict, Verdict::kSlower);
  // With ceilings it is known.
  const auto by_ceilings = JudgedRuns(
      {.benchmarks = 1, .every = 0, .drift = 0.04, .ceilings = 6, .ceilings_moved = 0.04}, 6);
  const auto width = [](const Judged& one) {
    return one.each[0].ci95.second - one.each[0].ci95.first;
  };
  EXPECT_LT(width(by_ceilings), width(judged));
}

// Of two or three benchmarks one that changed would move the factor of the others.
TEST(Judge, FewBenchmarksDoNotAccuseEachOther) {
  for (const int benchmarks : {2, 3})
    for (unsigned seed = 0; seed < 50; ++seed) {
      Runs runs({.benchmarks = benchmarks, .slower = 0.3, .every = 2, .drift = 0}, seed);
      const auto judged = Judge(runs.Make(), runs.Settings());
      for (int i = 0; i < benchmarks; ++i)
        if (runs.IsSlower(i))
          // Ambiguous where two repetitions of BASE were disturbed by as much.
          EXPECT_THAT(judged.each[i].verdict, AnyOf(Verdict::kSlower, Verdict::kAmbiguous)) << seed;
        else
          EXPECT_NE(judged.each[i].verdict, Verdict::kFaster) << seed;
    }
}

TEST(Judge, ABenchmarkThatJumpsBetweenTwoSpeedsIsNotAccused) {
  int wrong = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const auto judged = JudgedRuns({.earlier = 6, .every = 0, .two_speeds = true}, seed);
    wrong += IsChange(judged.each[0].verdict) ? 1 : 0;
  }
  EXPECT_LE(wrong, 1);
}

TEST(Judge, OneLargerChangeMakesNoOtherVerdictWorse) {
  Runs runs({.every = 10, .drift = 0}, 9);
  auto candidates = runs.Make();
  const auto before = Judge(candidates, {});
  candidates[9].contender.log_seconds += 0.05;
  const auto after = Judge(candidates, {});
  for (std::size_t i = 0; i < candidates.size(); ++i)
    EXPECT_EQ(after.each[i].verdict, before.each[i].verdict) << i;
}

// A window of quiet runs, and then one to three slow ones, of which NEW is the last.
TEST(Judge, AJumpAgainstAWindowIsSlowerAtOnceAndSaysSince) {
  for (const int benchmarks : {1, 5, 30})
    for (const int slow : {1, 2, 3})
      for (unsigned seed = 0; seed < 20; ++seed) {
        std::mt19937_64 random(seed);
        std::normal_distribution<double> gauss(0, 0.005);
        std::vector<Candidate> candidates(static_cast<std::size_t>(benchmarks));
        for (std::size_t i = 0; i < candidates.size(); ++i) {
          const auto level = [&](int run) {
            return Level{gauss(random) + (i == 0 && run >= 10 ? std::log(1.1) : 0), 10, 1e-6, 9};
          };
          for (int run = 0; run < 8 + slow; ++run)
            candidates[i].earlier.push_back({run, level(run)});
          candidates[i].base = level(8 + slow);
          candidates[i].contender = level(9 + slow);
        }
        const auto judged = Judge(candidates, {.window = true});
        EXPECT_EQ(judged.each[0].verdict, Verdict::kSlower) << benchmarks << slow << seed;
        EXPECT_EQ(judged.each[0].reason,
                  slow == 1 ? "unconfirmed, 1 run" : fmt::format("confirmed by {} runs", slow));
      }
}

TEST(CentreOf, IgnoresAThirdOfChangedValuesAlsoInItsScatter) {
  std::vector<Estimate> values;
  for (int i = 0; i < 20; ++i) values.push_back({0.01 * (i % 5 - 2) / 2, 1e-4});
  for (int i = 0; i < 10; ++i) values.push_back({0.3, 1e-4});
  const auto centre = CentreOf(values);
  EXPECT_NEAR(centre.value, 0, 0.002);
  EXPECT_LT(std::sqrt(centre.variance), 0.01);
  std::mt19937_64 random(2);
  std::normal_distribution<double> gauss(0, std::hypot(0.01, 0.03));
  values.clear();
  for (int i = 0; i < 1000; ++i) values.push_back({gauss(random) + (i % 10 == 0 ? 0.3 : 0), 1e-4});
  EXPECT_NEAR(std::sqrt(CentreOf(values).between.variance), 0.03, 0.003);
}

TEST(Moderated, TheTypicalVarianceCountsWithTwelveDegrees) {
  // The median of chi-square(8) / 8 is (1 - 2 / 72)^3 = 0.919, so 0.919 is typical of 1.
  std::vector<Spread> own(21, Spread{0.919, 8});
  own.push_back({8, 8});
  own.push_back({0, 0});  // nothing known
  const auto moderated = Moderated(own);
  EXPECT_NEAR(moderated[21].variance, (8 * 8 + 12 * 1) / 20.0, 0.01);
  EXPECT_NEAR(moderated[22].variance, 1, 0.001);
  EXPECT_EQ(moderated[21].degrees, 20);
}

// Two CPUs that share a core: a fifth of all at twice the time, in either run.
TEST(CentreOf, WhatHappensBothWaysIsNoise) {
  std::vector<Estimate> values;
  for (int i = 0; i < 100; ++i)
    values.push_back({i % 5 == 0 ? (i % 2 == 0 ? 0.7 : -0.7) : 0.001 * (i % 7 - 3), 1e-6});
  EXPECT_LT(std::sqrt(CentreOf(values).between.variance), 0.01)
      << "a fifth on each side are changes";
  for (int i = 0; i < 100; i += 4) values[i].value = i % 8 == 0 ? 0.7 : -0.7;
  EXPECT_GT(std::sqrt(CentreOf(values).between.variance), 0.3);
}

std::vector<Candidate> Quiet(std::size_t benchmarks, unsigned seed = 7) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> gauss(0, 0.004);
  std::vector<Candidate> candidates(benchmarks);
  for (auto& candidate : candidates) {
    candidate.base = {gauss(random), 10, 1e-4, 9};
    candidate.contender = {gauss(random), 10, 1e-4, 9};
  }
  return candidates;
}

// Neighbours make BASE slower as often as NEW.
TEST(Judge, AChangeOfOneProcessMustBeTwiceAsLargeAsTheOthersInTheOtherDirection) {
  auto candidates = Quiet(75);
  candidates[3].contender.log_seconds += 0.13;
  candidates[4].contender.log_seconds -= 0.1;
  auto judged = Judge(candidates, {});
  EXPECT_EQ(judged.each[3].verdict, Verdict::kSlower) << "one speedup is no noise";
  EXPECT_EQ(judged.each[4].verdict, Verdict::kFaster) << "one slowdown is no noise";
  candidates[5].contender.log_seconds -= 0.09;
  judged = Judge(candidates, {});
  EXPECT_EQ(judged.each[3].verdict, Verdict::kAmbiguous);
  EXPECT_TRUE(judged.each[3].is_suspect);
  EXPECT_FALSE(judged.each[4].is_suspect);
  candidates[3].contender.log_seconds += 0.02;
  EXPECT_EQ(Judge(candidates, {}).each[3].verdict, Verdict::kSlower) << "no process is 15 % slower";
  candidates[20].base.farthest = 0.3;
  EXPECT_EQ(Judge(candidates, {}).each[3].verdict, Verdict::kAmbiguous) << "repetitions were";
  for (auto& candidate : candidates) candidate.measured = Measured::kProcesses;
  judged = Judge(candidates, {});
  EXPECT_EQ(judged.each[3].verdict, Verdict::kSlower);
  EXPECT_EQ(judged.each[4].verdict, Verdict::kFaster);
}

TEST(Judge, OneProcessOfFewBenchmarksMayBeSlowForLife) {
  auto candidates = Quiet(4);
  candidates[1].contender.log_seconds += 0.1;
  candidates[2].contender.log_seconds += std::log(1.2);
  auto judged = Judge(candidates, {});
  EXPECT_EQ(judged.each[1].verdict, Verdict::kAmbiguous);
  EXPECT_TRUE(judged.each[1].is_suspect);
  EXPECT_THAT(judged.each[1].reason, HasSubstr("than unchanged programs differ in one process"));
  EXPECT_EQ(judged.each[2].verdict, Verdict::kSlower);
  auto beside = Quiet(30);  // of another device, with enough benchmarks
  for (auto& candidate : beside) candidate.group = 1;
  beside.insert(beside.begin(), candidates.begin(), candidates.end());
  EXPECT_EQ(Judge(beside, {}).each[1].verdict, Verdict::kAmbiguous);
  candidates[0].contender.farthest = 0.25;
  EXPECT_EQ(Judge(candidates, {}).each[2].verdict, Verdict::kAmbiguous);
  for (auto& candidate : candidates) candidate.measured = Measured::kProcesses;
  EXPECT_EQ(Judge(candidates, {}).each[1].verdict, Verdict::kSlower);
}

// Of 100 earlier runs of all benchmarks, two were 30 % off and returned.
TEST(Judge, WhatEarlierRunsWereOffByIsNoChange) {
  const auto judge = [](int off, double shift) {
    auto candidates = Quiet(10);
    std::mt19937_64 random(1);
    std::normal_distribution<double> gauss(0, 0.004);
    for (std::size_t i = 0; i < candidates.size(); ++i)
      for (int run = 0; run < 10; ++run) {
        const bool is_off = run == 5 && static_cast<int>(i) >= 10 - off;
        candidates[i].earlier.push_back({run, {gauss(random) + (is_off ? 0.3 : 0), 10, 1e-4, 9}});
      }
    candidates[0].contender.log_seconds += shift;
    return Judge(candidates, {}).each[0];
  };
  EXPECT_EQ(judge(0, 0.2).verdict, Verdict::kSlower);
  EXPECT_EQ(judge(2, 0.2).verdict, Verdict::kAmbiguous);
  EXPECT_EQ(judge(2, 0.5).verdict, Verdict::kSlower);
  // One in 20 of them was so far off, so the interval reaches as far.
  EXPECT_LT(judge(2, 0).ci95.second, 1.05);
  EXPECT_NEAR(judge(6, 0).ci95.second, std::exp(0.3), 0.05);
}

// Neighbours slow all repetitions of a tenth of the benchmarks, in one run or the other; some
// repetitions of one show it.
TEST(Judge, IntervalsReachAsFarAsBurstsOfNeighbours) {
  auto candidates = Quiet(40);
  for (const std::size_t i : {3, 13, 23, 33}) candidates[i].contender.log_seconds += 0.3;
  for (const std::size_t i : {8, 18, 28, 38}) candidates[i].contender.log_seconds -= 0.3;
  EXPECT_LT(Judge(candidates, {}).each[0].ci95.second, 1.05);
  candidates[5].base.farthest = 0.25;
  const auto busy = Judge(candidates, {});
  EXPECT_NEAR(busy.each[0].ci95.second, std::exp(0.3), 0.1);
  EXPECT_EQ(busy.each[3].verdict, Verdict::kAmbiguous);
  auto few = Quiet(4);
  few[1].base.farthest = 0.25;
  EXPECT_NEAR(Judge(few, {}).each[0].ci95.second, std::exp(0.25), 0.01);
}

// Each benchmark is off by 1 % or so for as long as its process runs.
TEST(Judge, LuckOfTwentyProcessesAccusesNobody) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> luck(0, 0.014);
  int alarms = 0;
  for (int round = 0; round < 300; ++round) {
    auto candidates = Quiet(20);
    for (auto& candidate : candidates) candidate.contender.log_seconds += luck(random);
    alarms += SlowerIn(Judge(candidates, {})) > 0 ? 1 : 0;
  }
  EXPECT_LE(alarms, 15);
}

TEST(Judge, DifferentSlowdownsOfMostAreNoNoise) {
  auto candidates = Quiet(20);
  for (std::size_t i = 0; i < 14; ++i)
    candidates[i].contender.log_seconds += std::log(1.2 + 0.03 * static_cast<double>(i));
  const auto judged = Judge(candidates, {});
  for (std::size_t i = 0; i < 14; ++i) EXPECT_EQ(judged.each[i].verdict, Verdict::kSlower) << i;
  for (std::size_t i = 14; i < 20; ++i) EXPECT_NE(judged.each[i].verdict, Verdict::kSlower) << i;
}

TEST(Judge, AllFasterBeyondDriftIsNoQuestion) {
  auto candidates = Quiet(20);
  for (auto& candidate : candidates) candidate.contender.log_seconds -= 0.26;
  EXPECT_FALSE(Judge(candidates, {}).common->is_unexplained);
  for (auto& candidate : candidates) candidate.contender.log_seconds += 0.2;
  EXPECT_TRUE(Judge(candidates, {}).common->is_unexplained);
}

TEST(Judge, CeilingsThatMovedTheOtherWayCorrectNothing) {
  for (const std::size_t count : {6U, 30U}) {
    auto candidates = Quiet(count);
    candidates[1].contender.log_seconds += 0.05;
    JudgeSettings settings;
    settings.machines[0] = {-0.2, 0.02, 2};
    const auto judged = Judge(candidates, settings);
    EXPECT_FALSE(judged.common->machine);
    for (const auto& each : judged.each) EXPECT_NEAR(each.removed, 1, 0.02) << count;
  }
}

TEST(Judge, ControlsSayWhatTheMachineDid) {
  std::vector<Candidate> candidates(5);
  for (auto& candidate : candidates) {
    candidate.base = {0, 10, 1e-6, 9};
    candidate.contender = {0.3, 10, 1e-6, 9};
    candidate.measured = Measured::kProcesses;
  }
  candidates[0].contender.log_seconds = 0.6;
  candidates[1].control = candidates[2].control = true;
  const auto judged = Judge(candidates, {});
  EXPECT_EQ(judged.each[0].verdict, Verdict::kSlower);
  EXPECT_NEAR(judged.each[0].ratio, std::exp(0.3), 1e-6);
  EXPECT_EQ(judged.each[3].verdict, Verdict::kSame);
  EXPECT_THAT(Describe(*judged.common).at(0), HasSubstr("2 controls moved by 1.350"));
}

}  // namespace
}  // namespace dlroof::statistics
