#include "baselines/statistics/process_levels.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dlroof::statistics {
namespace {

double MeanOfFastest(std::vector<double> logs) {
  const std::size_t count = FastestCount(logs.size());
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

}  // namespace

std::size_t FastestCount(std::size_t count) {
  return std::max<std::size_t>(
      1, static_cast<std::size_t>(std::lround(kFastestShare * static_cast<double>(count))));
}

double FastestLevel(const ProcessLogs& processes) {
  return MeanOfFastest(Joined(processes, processes.size()));
}

Spread SpreadOfProcesses(const ProcessLogs& processes) {
  const auto count = static_cast<double>(processes.size());
  std::vector<double> without;
  for (std::size_t i = 0; i < processes.size(); ++i)
    without.push_back(MeanOfFastest(Joined(processes, i)));
  const double mean = std::accumulate(without.begin(), without.end(), 0.0) / count;
  double squares = 0;
  for (const double one : without) squares += (one - mean) * (one - mean);
  // A pseudo-value is count * level - (count - 1) * the level without it.
  return {(count - 1) * squares, count - 1};
}

Shift ShiftOfProcesses(const ProcessLogs& base, const ProcessLogs& contender) {
  const Spread one = SpreadOfProcesses(base), other = SpreadOfProcesses(contender);
  Shift shift;
  shift.log_ratio = FastestLevel(contender) - FastestLevel(base);
  shift.standard_error = std::sqrt(one.variance / static_cast<double>(base.size()) +
                                   other.variance / static_cast<double>(contender.size()));
  shift.degrees = static_cast<int>(one.degrees + other.degrees);
  const double reach = StudentQuantile95(shift.degrees) * shift.standard_error;
  shift.ci95 = {shift.log_ratio - reach, shift.log_ratio + reach};
  auto before = Joined(base, base.size());
  std::ranges::sort(before);
  double more = 0;  // pairs in which the contender is slower, minus those in which it is faster
  double pairs = 0;
  for (const auto& process : contender)
    for (const double log : process) {
      const auto [first, last] = std::ranges::equal_range(before, log);
      more +=
          static_cast<double>(first - before.begin()) - static_cast<double>(before.end() - last);
      pairs += static_cast<double>(before.size());
    }
  shift.cliffs_delta = more / pairs;
  return shift;
}

}  // namespace dlroof::statistics
