#include "baselines/statistics/process_levels.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "counters/cpu/team_look.h"

namespace dlroof::statistics {
namespace {

// To depart from the usual share: the ratio of variances, the degrees of freedom of all benchmarks,
// and the number of repetitions that are left in the fastest part.
constexpr double kVarianceOfBetter = 0.5, kMinDegrees = 30;
constexpr std::size_t kMinFastest = 4;
// The part of the repetitions that tells whether the program was disturbed all the time.
constexpr double kToldShare = 0.1;
constexpr std::size_t kMinTold = 3;

double MeanOfFastest(std::vector<double> logs, double share) {
  const std::size_t count = FastestCount(logs.size(), share);
  const auto end = logs.begin() + static_cast<std::ptrdiff_t>(count);
  std::ranges::nth_element(logs, end - 1);
  return std::accumulate(logs.begin(), end, 0.0) / static_cast<double>(count);
}

// Returns the times of all processes, but for the one at `without`.
std::vector<double> Joined(const ProcessLogs& processes, std::size_t without) {
  std::vector<double> all;
  for (std::size_t i = 0; i < processes.size(); ++i)
    if (i != without) all.insert(all.end(), processes[i].begin(), processes[i].end());
  return all;
}

std::size_t Repetitions(const ProcessLogs& processes) {
  std::size_t count = 0;
  for (const auto& process : processes) count += process.size();
  return count;
}

double VarianceOf(const ProcessPair& pair, double share) {
  return SpreadOfProcesses(pair.base, share).variance / static_cast<double>(pair.base.size()) +
         SpreadOfProcesses(pair.contender, share).variance /
             static_cast<double>(pair.contender.size());
}

// Waiting for a CPU is no sign: a repetition that is among the fastest did not.
bool SharedItsCore(const record::Record& record) {
  std::vector<const record::Repetition*> sorted;
  for (const auto& repetition : record.repetitions) sorted.push_back(&repetition);
  const std::size_t count =
      std::min(sorted.size(), std::max(kMinTold, FastestCount(sorted.size(), kToldShare)));
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(count);
  std::ranges::partial_sort(sorted, end, {}, &record::Repetition::seconds);
  const auto shared = std::count_if(sorted.begin(), end, [](const auto* repetition) {
    return repetition->core_share.value_or(1) < cpu::kMinCoreShare ||
           repetition->link_share.value_or(1) < cpu::kMinLinkShare;
  });
  return 2 * static_cast<std::size_t>(shared) > count;
}

}  // namespace

std::size_t FastestCount(std::size_t count, double share) {
  const auto rounded = static_cast<std::size_t>(std::lround(share * static_cast<double>(count)));
  return std::max<std::size_t>(1, rounded);
}

double FastestLevel(const ProcessLogs& processes, double share) {
  return MeanOfFastest(Joined(processes, processes.size()), share);
}

Spread SpreadOfProcesses(const ProcessLogs& processes, double share) {
  const auto count = static_cast<double>(processes.size());
  std::vector<double> without;
  for (std::size_t i = 0; i < processes.size(); ++i)
    without.push_back(MeanOfFastest(Joined(processes, i), share));
  const double mean = std::accumulate(without.begin(), without.end(), 0.0) / count;
  double squares = 0;
  for (const double one : without) squares += (one - mean) * (one - mean);
  // A pseudo-value is count * level - (count - 1) * the level without it.
  return {(count - 1) * squares, count - 1};
}

Shift ShiftOfProcesses(const ProcessPair& pair, double share) {
  Shift shift;
  shift.log_ratio = FastestLevel(pair.contender, share) - FastestLevel(pair.base, share);
  shift.standard_error = std::sqrt(VarianceOf(pair, share));
  shift.degrees = static_cast<int>(pair.base.size() + pair.contender.size()) - 2;
  const double reach = StudentQuantile95(shift.degrees) * shift.standard_error;
  shift.ci95 = {shift.log_ratio - reach, shift.log_ratio + reach};
  auto before = Joined(pair.base, pair.base.size());
  std::ranges::sort(before);
  double more = 0;  // pairs in which the contender is slower, minus those in which it is faster
  double pairs = 0;
  for (const auto& process : pair.contender)
    for (const double log : process) {
      const auto [first, last] = std::equal_range(before.begin(), before.end(), log);
      more +=
          static_cast<double>(first - before.begin()) - static_cast<double>(before.end() - last);
      pairs += static_cast<double>(before.size());
    }
  shift.cliffs_delta = more / pairs;
  return shift;
}

double ChooseShare(const std::vector<const ProcessPair*>& pairs) {
  const double usual = kFastestShares.front();
  double degrees = 0;
  std::size_t fewest = pairs.empty() ? 0 : Repetitions(pairs.front()->base);
  for (const auto* pair : pairs) {
    degrees += static_cast<double>(pair->base.size() + pair->contender.size()) - 2;
    fewest = std::min({fewest, Repetitions(pair->base), Repetitions(pair->contender)});
  }
  if (degrees < kMinDegrees) return usual;
  const auto mean_log = [&](double share) {
    double sum = 0;
    for (const auto* pair : pairs) sum += std::log(std::max(VarianceOf(*pair, share), 1e-18));
    return sum / static_cast<double>(pairs.size());
  };
  double best = usual, least = mean_log(usual) + std::log(kVarianceOfBetter);
  for (const double share : kFastestShares) {
    if (share == usual || FastestCount(fewest, share) < kMinFastest) continue;
    if (const double own = mean_log(share); own < least) {
      best = share;
      least = own;
    }
  }
  return best;
}

std::optional<ProcessLogs> TimesByProcess(const record::Record& record) {
  if (record.device == "gpu") return std::nullopt;
  std::map<int, std::vector<double>> by_process;
  for (const auto& repetition : record.repetitions) {
    if (!repetition.block || !(repetition.seconds > 0)) return std::nullopt;
    by_process[*repetition.block].push_back(std::log(repetition.seconds));
  }
  if (by_process.size() < kMinProcesses || SharedItsCore(record)) return std::nullopt;
  ProcessLogs logs;
  for (auto& [process, times] : by_process) logs.push_back(std::move(times));
  return logs;
}

std::optional<ProcessPair> PairByProcess(const record::Record& base,
                                         const record::Record& contender) {
  auto before = TimesByProcess(base);
  if (!before) return std::nullopt;
  auto after = TimesByProcess(contender);
  if (!after) return std::nullopt;
  return ProcessPair{*std::move(before), *std::move(after)};
}

}  // namespace dlroof::statistics
