#include "baselines/compare/process_times.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace dlroof::compare {
namespace {

bool IsFastestQuarterClean(const record::Record& record) {
  std::vector<const record::Repetition*> sorted;
  for (const auto& repetition : record.repetitions) sorted.push_back(&repetition);
  std::ranges::stable_sort(sorted, {}, &record::Repetition::seconds);
  const std::size_t count = statistics::FastestCount(sorted.size());
  const auto noisy = std::count_if(sorted.begin(), sorted.begin() + static_cast<long>(count),
                                   [](const auto* repetition) { return repetition->noisy; });
  return 2 * static_cast<std::size_t>(noisy) <= count;
}

}  // namespace

std::optional<statistics::ProcessLogs> TimesByProcess(const record::Record& record) {
  if (record.device == "gpu") return std::nullopt;
  std::map<int, std::vector<double>> by_process;
  for (const auto& repetition : record.repetitions) {
    if (!repetition.block || !(repetition.seconds > 0)) return std::nullopt;
    by_process[*repetition.block].push_back(std::log(repetition.seconds));
  }
  if (by_process.size() < statistics::kLeastProcesses || !IsFastestQuarterClean(record))
    return std::nullopt;
  statistics::ProcessLogs logs;
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

}  // namespace dlroof::compare
