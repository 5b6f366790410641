#include "baselines/statistics/process_levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "baselines/statistics/judge_stored.h"

namespace dlroof::statistics {
namespace {

TEST(ProcessLevels, MeanOfTheFastestQuarterOfAllRepetitions) {
  EXPECT_EQ(FastestCount(1, 0.25), 1);
  EXPECT_EQ(FastestCount(9, 0.25), 2);
  EXPECT_EQ(FastestCount(10, 0.25), 3);  // 2.5 is rounded up
  EXPECT_EQ(FastestCount(40, 0.25), 10);
  EXPECT_DOUBLE_EQ(FastestLevel({{5, 1}, {4, 2}, {9, 8}, {7, 6}}, 0.25), 1.5);
  EXPECT_DOUBLE_EQ(FastestLevel({{3}}, 0.25), 3);
}

TEST(ProcessLevels, SpreadIsThatOfThePseudoValues) {
  const ProcessLogs processes = {{1, 2, 3, 9}, {1.5, 2.5, 4, 4}, {1.2, 5, 5, 5}, {2, 2, 2, 2}};
  const double all = FastestLevel(processes, 0.25);
  std::vector<double> pseudo;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    auto others = processes;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    pseudo.push_back(4 * all - 3 * FastestLevel(others, 0.25));
  }
  double mean = 0, squares = 0;
  for (const double one : pseudo) mean += one / 4;
  for (const double one : pseudo) squares += (one - mean) * (one - mean);
  const auto spread = SpreadOfProcesses(processes, 0.25);
  EXPECT_NEAR(spread.variance, squares / 3, 1e-12);
  EXPECT_EQ(spread.degrees, 3);
}

TEST(ProcessLevels, OfEqualProcessesTheSpreadIsZero) {
  EXPECT_NEAR(SpreadOfProcesses({{1, 2}, {1, 2}, {1, 2}, {1, 2}}, 0.25).variance, 0, 1e-12);
}

TEST(ProcessLevels, ShiftHasTheErrorOfBothSides) {
  const ProcessLogs base = {{0, 0.1}, {0.01, 0.2}, {0.02, 0.3}};
  const ProcessLogs contender = {{1, 1.1}, {1.01, 1.2}, {1.02, 1.3}};
  const auto shift = ShiftOfProcesses({base, contender}, 0.25);
  EXPECT_NEAR(shift.log_ratio, 1, 1e-12);
  EXPECT_EQ(shift.degrees, 4);
  EXPECT_NEAR(shift.standard_error, std::sqrt(2 * SpreadOfProcesses(base, 0.25).variance / 3),
              1e-12);
  EXPECT_NEAR(shift.ci95.second - 1, 2.776 * shift.standard_error, 1e-3);  // Student, 4
  EXPECT_EQ(shift.cliffs_delta, 1);
  EXPECT_EQ(ShiftOfProcesses({contender, base}, 0.25).cliffs_delta, -1);
  EXPECT_EQ(ShiftOfProcesses({base, base}, 0.25).cliffs_delta, 0);
}

// A shared machine: 40 % of the repetitions are slower by up to 60 %, and one process in fifteen is
// slower by 14 % for its whole life.
struct SharedMachine {
  int benchmarks = 20, processes = 5, earlier = 0;
  double slower = 0.05;  // [1] of every tenth benchmark

  std::vector<Candidate> Make(std::mt19937& random) const {
    std::uniform_real_distribution<double> factor(0, 0.04);
    std::vector<double> factors;
    for (int run = 0; run < earlier; ++run) factors.push_back(factor(random));
    const double own_factor = factor(random);
    std::vector<Candidate> candidates;
    for (int i = 0; i < benchmarks; ++i) {
      Candidate candidate{};
      for (int run = 0; run < earlier; ++run)
        candidate.earlier.push_back({run, {}, Times(factors[run], random)});
      candidate.processes.base = Times(0, random);
      candidate.processes.contender =
          Times(own_factor + (i % 10 == 9 ? std::log1p(slower) : 0), random);
      candidate.shift = ShiftOfProcesses(candidate.processes, 0.25);
      candidates.push_back(std::move(candidate));
    }
    return candidates;
  }

  ProcessLogs Times(double level, std::mt19937& random) const {
    std::normal_distribution<double> gauss;
    std::uniform_real_distribution<double> chance;
    ProcessLogs logs;
    for (int process = 0; process < processes; ++process) {
      const double own =
          level + 0.007 * gauss(random) + (chance(random) < 1 / 15.0 ? std::log(1.14) : 0);
      auto& times = logs.emplace_back();
      for (int i = 0; i < 10; ++i)
        times.push_back(own + 0.01 * gauss(random) +
                        (chance(random) < 0.4 ? std::log1p(0.6 * chance(random)) : 0));
    }
    return logs;
  }
};

struct Counts {
  int changed = 0, found = 0, unchanged = 0, accused = 0;
};

Counts CountOver(const SharedMachine& machine, int rounds) {
  std::mt19937 random(5);
  Counts counts;
  for (int round = 0; round < rounds; ++round) {
    const auto judged = Judge(machine.Make(random), {});
    for (std::size_t i = 0; i < judged.each.size(); ++i) {
      const auto verdict = judged.each[i].verdict;
      const bool changed = i % 10 == 9;
      ++(changed ? counts.changed : counts.unchanged);
      if (changed)
        counts.found += verdict == Verdict::kSlower ? 1 : 0;
      else
        counts.accused += verdict == Verdict::kSlower || verdict == Verdict::kFaster ? 1 : 0;
    }
  }
  return counts;
}

TEST(ProcessLevels, FivePercentAreFoundWhereMediansWouldScatterByMore) {
  const auto counts = CountOver({}, 60);
  EXPECT_GE(counts.found, 0.9 * counts.changed);
  EXPECT_LE(counts.accused, 0.01 * counts.unchanged);
}

TEST(ProcessLevels, EarlierRunsTellWhatDiffersBetweenRuns) {
  const auto alone = CountOver({.slower = 0.03}, 60);
  const auto learnt = CountOver({.earlier = 8, .slower = 0.03}, 60);
  EXPECT_GT(learnt.found, alone.found);
  EXPECT_GE(learnt.found, 0.7 * learnt.changed);
  EXPECT_LE(learnt.accused, 0.01 * learnt.unchanged);
}

TEST(ProcessLevels, EarlierRunsWithoutProcessesAreNoLevels) {
  std::mt19937 random(5);
  const SharedMachine machine{.earlier = 3};
  auto candidates = machine.Make(random);
  for (auto& candidate : candidates)
    for (auto& earlier : candidate.earlier) {
      earlier.logs = earlier.processes.front();
      earlier.processes.clear();
    }
  for (const auto& one : Judge(candidates, {}).each) EXPECT_EQ(one.earlier_runs, 0);
  random.seed(5);
  int used = 0;
  for (const auto& one : Judge(machine.Make(random), {}).each) used += one.earlier_runs;
  EXPECT_GT(used, 30);
}

// Returns processes of five repetitions of which `share` are clean (0.3 %) and the others up to
// three times as slow.
ProcessLogs Busy(int processes, double level, double share, std::mt19937& random) {
  std::normal_distribution<double> gauss;
  std::uniform_real_distribution<double> chance;
  ProcessLogs logs(processes);
  for (auto& process : logs)
    for (int i = 0; i < 5; ++i)
      process.push_back(level + 0.003 * gauss(random) +
                        (chance(random) < share ? 0 : std::log1p(2 * chance(random))));
  return logs;
}

TEST(ProcessLevels, FewerRepetitionsCountWhereMostAreDisturbed) {
  std::mt19937 random(1);
  const auto share_of = [&](int processes, double clean) {
    const ProcessPair pair{Busy(processes, 0, clean, random), Busy(processes, 0, clean, random)};
    return ChooseShare({&pair});
  };
  EXPECT_EQ(share_of(40, 1), 0.25);
  EXPECT_EQ(share_of(40, 0.6), 0.25);
  EXPECT_LT(share_of(40, 0.15), 0.25);
  EXPECT_EQ(share_of(5, 0.15), 0.25);  // too few processes tell which share is better
  EXPECT_EQ(ChooseShare({}), 0.25);
}

record::Record RecordOf(const ProcessLogs& processes) {
  record::Record record;
  record.device = "cpu";
  for (std::size_t process = 0; process < processes.size(); ++process)
    for (const double log : processes[process]) {
      record.repetitions.push_back({.seconds = std::exp(log), .iterations = 1});
      record.repetitions.back().block = static_cast<int>(process);
    }
  return record;
}

TEST(MeasureBlocks, TheFastestWindowsTellWhereTheBlocksRatiosScatter) {
  std::mt19937 random(3);
  int found = 0, ratios_found = 0, accused = 0, by_levels = 0;
  constexpr int kRounds = 60;
  for (int round = 0; round < kRounds; ++round) {
    const auto base = RecordOf(Busy(40, 0, 0.2, random)),
               slower = RecordOf(Busy(40, std::log(1.05), 0.2, random)),
               same = RecordOf(Busy(40, 0, 0.2, random));
    const auto blocks = MeasureBlocks(base, slower);
    by_levels += blocks.fastest_share ? 1 : 0;
    found += blocks.paired->p_value <= 0.05 && blocks.paired->shift.log_ratio > 0.02 ? 1 : 0;
    const auto ratios = MeasureSequentialShift(BlockLogRatios(base, slower));
    ratios_found += ratios->p_value <= 0.05 ? 1 : 0;
    accused += MeasureBlocks(base, same).paired->p_value <= 0.05 ? 1 : 0;
  }
  EXPECT_GE(by_levels, 0.95 * kRounds);
  EXPECT_GE(found, 0.95 * kRounds);
  EXPECT_LT(ratios_found, 0.3 * kRounds);
  EXPECT_LE(accused, 1);
}

TEST(MeasureBlocks, QuietBlocksAreJudgedByTheirRatios) {
  std::mt19937 random(4);
  const auto base = RecordOf(Busy(40, 0, 0.98, random)),
             slower = RecordOf(Busy(40, 0.05, 0.98, random));
  const auto blocks = MeasureBlocks(base, slower);
  EXPECT_FALSE(blocks.fastest_share);
  EXPECT_EQ(blocks.clean_blocks, 40);
  const auto ratios = MeasureSequentialShift(BlockLogRatios(base, slower));
  EXPECT_EQ(blocks.paired->shift.ci95, ratios->shift.ci95);
  EXPECT_EQ(blocks.paired->p_value, ratios->p_value);
}

TEST(MeasureBlocks, FewBlocksHaveNoLevels) {
  std::mt19937 random(5);
  const auto base = RecordOf(Busy(14, 0, 0.2, random)), same = RecordOf(Busy(14, 0, 0.2, random));
  EXPECT_FALSE(MeasureBlocks(base, same).fastest_share);
  EXPECT_FALSE(MeasureBlocks(RecordOf(Busy(4, 0, 1, random)), same).paired);
}

}  // namespace
}  // namespace dlroof::statistics
