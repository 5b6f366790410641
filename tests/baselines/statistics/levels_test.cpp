#include "baselines/statistics/levels.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

namespace dlroof::statistics {
namespace {

record::Record OneProcess(const std::vector<double>& seconds, std::size_t noisy = 0) {
  record::Record record;
  for (std::size_t i = 0; i < seconds.size(); ++i)
    record.repetitions.push_back({.seconds = seconds[i], .iterations = 1, .noisy = i < noisy});
  return record;
}

TEST(LevelOfClean, IsTheMeanOfTheTimesNearTheirMedian) {
  // Logarithms 0, 1, 2, 3 and 20: the distances from 2 are 2, 1, 0, 1 and 18, their median is 1,
  // and 18 is more than 4.5 times 1.4826.
  std::vector<double> seconds;
  for (const double log : {0, 1, 2, 3, 20}) seconds.push_back(std::exp(log));
  const auto level = LevelOfClean(OneProcess(seconds));
  ASSERT_TRUE(level);
  EXPECT_NEAR(level->log_seconds, 1.5, 1e-12);
  EXPECT_EQ(level->count, 4);
  EXPECT_NEAR(level->variance, 5.0 / 3, 1e-12);  // 2.25, 0.25, 0.25 and 2.25
  EXPECT_EQ(level->degrees, 3);
  EXPECT_NEAR(*level->fastest, 0, 1e-12);  // the fastest one of five
  EXPECT_NEAR(level->farthest, 2, 1e-12);  // of the distances 18, 2, 1, 1 and 0
}

TEST(LevelOfClean, ItsErrorIsThatOfTheRepetitions) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> gauss(0, 0.02);
  double variance = 0, squares = 0;
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> seconds(10);
    for (double& value : seconds) value = std::exp(gauss(random));
    const auto level = LevelOfClean(OneProcess(seconds)).value();
    variance += level.variance / level.count / kRounds;
    squares += level.log_seconds * level.log_seconds / kRounds;
  }
  EXPECT_NEAR(std::sqrt(variance / squares), 1, 0.1);
}

TEST(LevelOfClean, TooFewOrNoPositiveTimesHaveNone) {
  EXPECT_FALSE(LevelOfClean(OneProcess({1, 1, 1})));
  EXPECT_TRUE(LevelOfClean(OneProcess({1, 1, 1, 1})));
  EXPECT_FALSE(LevelOfClean(OneProcess({1, 1, 1, 0})));
  EXPECT_TRUE(LevelOfClean(OneProcess(std::vector<double>(10, 1), 5)));
  EXPECT_FALSE(LevelOfClean(OneProcess(std::vector<double>(10, 1), 6)));
}

TEST(LevelOfProcesses, IsTheMeanOfTheFastestQuarterAndItsVarianceThatOfThePseudoValues) {
  EXPECT_DOUBLE_EQ(LevelOfProcesses({{5, 1}, {4, 2}, {9, 8}, {7, 6}}).log_seconds, 1.5);
  EXPECT_NEAR(LevelOfProcesses({{1, 2}, {1, 2}, {1, 2}, {1, 2}}).variance, 0, 1e-12);
  const ProcessLogs processes = {{1, 2, 3, 9}, {1.5, 2.5, 4, 4}, {1.2, 5, 5, 5}, {2, 2, 2, 2}};
  const Level level = LevelOfProcesses(processes);
  std::vector<double> pseudo;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    auto others = processes;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    pseudo.push_back(4 * level.log_seconds - 3 * LevelOfProcesses(others).log_seconds);
  }
  double mean = 0, squares = 0;
  for (const double value : pseudo) mean += value / 4;
  for (const double value : pseudo) squares += (value - mean) * (value - mean);
  EXPECT_NEAR(level.variance, squares / 3, 1e-12);
  EXPECT_EQ(level.degrees, 3);
}

TEST(ShiftOfLevels, HasTheErrorOfBothSides) {
  const Level base{1, 4, 0.04, 3}, contender{1.5, 9, 0.09, 8};
  const auto shift = ShiftOfLevels(base, contender);
  EXPECT_DOUBLE_EQ(shift.log_ratio, 0.5);
  EXPECT_NEAR(shift.standard_error, std::sqrt(0.02), 1e-12);              // 0.04 / 4 + 0.09 / 9
  EXPECT_NEAR(shift.ci95.second - 0.5, 2.20099 * std::sqrt(0.02), 1e-5);  // Student, 11
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
    by_levels += blocks.levels.fastest_share ? 1 : 0;
    found += blocks.paired->p_value <= 0.05 && blocks.paired->log_ratio > 0.02 ? 1 : 0;
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
  EXPECT_FALSE(blocks.levels.fastest_share);
  EXPECT_EQ(blocks.blocks, 40);
  const auto ratios = MeasureSequentialShift(BlockLogRatios(base, slower));
  EXPECT_EQ(blocks.paired->ci95, ratios->ci95);
  EXPECT_EQ(blocks.paired->p_value, ratios->p_value);
}

TEST(MeasureBlocks, WindowsThatAreAllNoisyTellOfLargeChangesAndAccuseNobody) {
  std::mt19937 random(6);
  const auto noisy = [&](double shift) {
    auto record = RecordOf(Busy(14, shift, 0.05, random));
    for (auto& repetition : record.repetitions) repetition.noisy = true;
    return record;
  };
  int found = 0, accused = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    const auto base = noisy(0), doubled = noisy(std::log(2)), same = noisy(0);
    found += MeasureBlocks(base, doubled).paired->p_value <= 0.05 ? 1 : 0;
    accused += MeasureBlocks(base, same).paired->p_value <= 0.05 ? 1 : 0;
  }
  EXPECT_EQ(found, kRounds);
  EXPECT_LE(accused, 0.03 * kRounds);
}

TEST(MeasureBlocks, FewBlocksHaveNoLevels) {
  std::mt19937 random(5);
  const auto base = RecordOf(Busy(14, 0, 0.2, random)), same = RecordOf(Busy(14, 0, 0.2, random));
  EXPECT_FALSE(MeasureBlocks(base, same).levels.fastest_share);
  auto waited = RecordOf(Busy(40, 0, 0.2, random));
  for (auto& repetition : waited.repetitions) repetition.main_cpu_seconds = repetition.seconds / 2;
  EXPECT_FALSE(TimesByProcess(waited));
  EXPECT_FALSE(MeasureBlocks(RecordOf(Busy(4, 0, 1, random)), same).paired);
}

}  // namespace
}  // namespace dlroof::statistics
