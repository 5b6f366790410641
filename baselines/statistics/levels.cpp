#include "baselines/statistics/levels.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "counters/cpu/clocks.h"

namespace dlroof::statistics {
namespace {

// [deviations] Repetitions farther from the median are left out: of normal ones 7 in 10^6.
constexpr double kLeftOut = 4.5;

std::size_t FastestCount(std::size_t count, double share) {
  return std::max<std::size_t>(1, std::lround(share * static_cast<double>(count)));
}

double MeanOfFastest(std::vector<double> logs, double share) {
  const std::size_t count = FastestCount(logs.size(), share);
  const auto end = logs.begin() + static_cast<std::ptrdiff_t>(count);
  std::ranges::nth_element(logs, end - 1);
  return std::accumulate(logs.begin(), end, 0.0) / static_cast<double>(count);
}

std::vector<double> Joined(const ProcessLogs& processes, std::size_t without) {
  std::vector<double> all;
  for (std::size_t i = 0; i < processes.size(); ++i)
    if (i != without) all.insert(all.end(), processes[i].begin(), processes[i].end());
  return all;
}

// Returns whether most of the fastest repetitions shared cores with other programs, or waited.
bool SharedItsCore(const record::Record& record) {
  constexpr double kShare = 0.1;
  constexpr std::size_t kMinCount = 3;
  auto sorted = record.repetitions;
  const std::size_t count =
      std::min(sorted.size(), std::max(kMinCount, FastestCount(sorted.size(), kShare)));
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(count);
  std::ranges::partial_sort(sorted, end, {}, &record::Repetition::seconds);
  const auto shared = std::count_if(sorted.begin(), end, [](const record::Repetition& seen) {
    return seen.core_share.value_or(1) < cpu::kMinCoreShare ||
           seen.link_share.value_or(1) < cpu::kMinLinkShare ||
           seen.main_cpu_seconds.value_or(seen.seconds) < cpu::kMinCoreShare * seen.seconds;
  });
  return 2 * static_cast<std::size_t>(shared) > count;
}

std::optional<Level> LevelOfAggregate(const record::Repetition& repetition) {
  const auto& aggregate = *repetition.aggregate;
  const auto error = record::RelativeError(aggregate);
  if (!error || !(repetition.seconds > 0)) return std::nullopt;
  const double count = *aggregate.repetitions;
  return Level{std::log(repetition.seconds), count, Square(*error) * count, count - 1};
}

}  // namespace

std::optional<Level> LevelOfClean(const record::Record& record) {
  if (record.repetitions.size() == 1 && record.repetitions[0].aggregate)
    return LevelOfAggregate(record.repetitions[0]);
  std::vector<double> values;  // logarithms
  for (const auto& repetition : record.repetitions) {
    if (repetition.noisy) continue;
    if (!(repetition.seconds > 0)) return std::nullopt;
    values.push_back(std::log(repetition.seconds));
  }
  if (values.size() < kMinClean || 2 * values.size() < record.repetitions.size())
    return std::nullopt;
  Level level{.fastest = MeanOfFastest(values, kFastestShare)};
  const double median = Median(values);
  auto distances = VectorOf<double>(values, [&](double log) { return std::abs(log - median); });
  std::ranges::sort(distances);
  level.farthest = distances[distances.size() - 2];
  const double far = kLeftOut * RobustDeviation(values, median) + 1e-12;
  std::erase_if(values, [&](double value) { return std::abs(value - median) > far; });
  level.count = static_cast<double>(values.size());
  level.degrees = level.count - 1;
  level.log_seconds = std::accumulate(values.begin(), values.end(), 0.0) / level.count;
  for (const double value : values)
    level.variance += Square(value - level.log_seconds) / std::max(level.degrees, 1.0);
  return level;
}

std::optional<ProcessLogs> TimesByProcess(const record::Record& record) {
  if (record.device == "gpu") return std::nullopt;
  std::map<int, std::vector<double>> by_process;
  for (const auto& repetition : record.repetitions) {
    if (!repetition.block || !(repetition.seconds > 0)) return std::nullopt;
    by_process[*repetition.block].push_back(std::log(repetition.seconds));
  }
  if (by_process.size() < kMinProcesses || SharedItsCore(record)) return std::nullopt;
  return VectorOf<std::vector<double>>(by_process, [](auto& times) { return times.second; });
}

Level LevelOfProcesses(const ProcessLogs& processes, double share) {
  const auto count = static_cast<double>(processes.size());
  std::vector<double> without;
  for (std::size_t i = 0; i < processes.size(); ++i)
    without.push_back(MeanOfFastest(Joined(processes, i), share));
  const double mean = std::accumulate(without.begin(), without.end(), 0.0) / count;
  double squares = 0;
  for (const double level : without) squares += Square(level - mean);
  // Variance of the pseudo-values count * level - (count - 1) * (level without the process).
  return {MeanOfFastest(Joined(processes, processes.size()), share), count, (count - 1) * squares,
          count - 1};
}

Shift ShiftOfLevels(const Level& base, const Level& contender, double error) {
  Shift shift{.log_ratio = contender.log_seconds - base.log_seconds};
  shift.standard_error =
      std::sqrt(base.variance / base.count + contender.variance / contender.count);
  const double degrees = base.degrees + contender.degrees;
  const double reach = StudentQuantile(degrees, error) * shift.standard_error;
  shift.ci95 = {shift.log_ratio - reach, shift.log_ratio + reach};
  return shift;
}

std::optional<LevelPair> LevelsOf(const record::Record& base, const record::Record& contender) {
  const auto before = TimesByProcess(base), after = TimesByProcess(contender);
  if (before && after)
    return LevelPair{LevelOfProcesses(*before), LevelOfProcesses(*after), kFastestShare};
  const auto old = LevelOfClean(base), now = LevelOfClean(contender);
  if (!old || !now) return std::nullopt;
  return LevelPair{*old, *now};
}

BlocksShift MeasureBlocks(const record::Record& base, const record::Record& contender) {
  // The share with the smallest standard error is chosen, so this error is up to a fifth too small:
  // without kErrorOfLevels, 95 % intervals missed up to 8 % of simulated unchanged pairs.
  constexpr double kError = 0.05, kOfRatios = 0.5, kErrorOfLevels = 1.2;
  constexpr std::size_t kMinBlocksOfLevels = 20, kMinFastest = 4;  // [repetitions]
  constexpr double kVarianceOfBetter = 0.5;
  constexpr double kExact = 1e9;  // [1] used as BASE's count, so that BASE adds no error
  const auto log_ratios = BlockLogRatios(base, contender);
  BlocksShift blocks{.paired = MeasureSequentialShift(log_ratios, kError),
                     .blocks = log_ratios.size()};
  if (blocks.paired) {
    const Shift& shift = *blocks.paired;
    blocks.levels.base.count = kExact;
    blocks.levels.contender = {shift.log_ratio, 1, Square(shift.standard_error),
                               static_cast<double>(blocks.blocks) - 1};
  }
  const auto olds = TimesByProcess(base), news = TimesByProcess(contender);
  if (!olds || !news || std::min(olds->size(), news->size()) < kMinBlocksOfLevels) return blocks;
  const auto fewest = std::min(Joined(*olds, SIZE_MAX).size(), Joined(*news, SIZE_MAX).size());
  LevelPair fastest;
  double least = HUGE_VAL;  // a smaller share is chosen if its variance is below this
  for (const double share : {kFastestShare, 0.1, 0.05}) {
    if (share < kFastestShare && FastestCount(fewest, share) < kMinFastest) break;
    const LevelPair levels{LevelOfProcesses(*olds, share), LevelOfProcesses(*news, share), share};
    const Shift shift = ShiftOfLevels(levels.base, levels.contender);
    const double variance = Square(std::max(shift.standard_error, 1e-9));
    if (variance >= least) continue;
    least = variance * (share == kFastestShare ? kVarianceOfBetter : 1);
    fastest = levels;
  }
  for (auto* level : {&fastest.base, &fastest.contender}) level->variance *= Square(kErrorOfLevels);
  Shift shift = ShiftOfLevels(fastest.base, fastest.contender, kError / kLooks.size());
  if (!(shift.standard_error > 0) ||
      (blocks.paired && shift.standard_error >= kOfRatios * blocks.paired->standard_error))
    return blocks;
  const double degrees = fastest.base.degrees + fastest.contender.degrees;
  const double p_value = StudentTwoSided(shift.log_ratio / shift.standard_error, degrees);
  shift.p_value = std::min(1.0, kLooks.size() * p_value);
  return {shift, blocks.blocks, fastest};
}

}  // namespace dlroof::statistics
