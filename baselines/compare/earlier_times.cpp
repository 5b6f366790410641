#include "baselines/compare/earlier_times.h"

#include <cmath>

#include "baselines/compare/compare.h"
#include "baselines/compare/judged_times.h"
#include "baselines/statistics/process_levels.h"
#include "counters/base/error.h"

namespace dlroof::compare {

EarlierRuns::EarlierRuns(const std::vector<const NamedRun*>& runs, const NamedRun& base) {
  for (const auto* run : runs) {
    try {
      CheckComparable(*run, base, PairRecords(*run, base, {}), false);
    } catch (const BadInput&) {
      continue;  // another machine, other settings, or no benchmark in common
    }
    auto& records = by_name_.emplace_back();
    records.reserve(run->file.records.size());
    for (const auto& record : run->file.records) records.emplace(record.name, &record);
  }
}

std::vector<statistics::EarlierTimes> EarlierRuns::TimesOf(const record::Record& base) const {
  std::vector<statistics::EarlierTimes> times;
  for (std::size_t run = 0; run < by_name_.size(); ++run) {
    const auto found = by_name_[run].find(base.name);
    if (found == by_name_[run].end()) continue;
    const record::Record& record = *found->second;
    auto processes = statistics::TimesByProcess(record);
    if (record.status != record::Status::kOk || (!processes && !HasEnoughClean(record)) ||
        IsSameMeasurement(record, base))
      continue;
    try {
      const auto chosen = base.device == "gpu" ? ChooseTimes(base, record) : std::nullopt;
      auto logs = CleanLogs(chosen ? chosen->contender : record);
      if (!HasEnoughClean(record)) logs.clear();
      if (!logs.empty() || processes)
        times.push_back({static_cast<int>(run), std::move(logs),
                         processes ? *std::move(processes) : statistics::ProcessLogs()});
    } catch (const Unsupported&) {
      continue;  // no time of the same kind
    }
  }
  return times;
}

std::vector<double> CleanLogs(const record::Record& record) {
  if (record.repetitions.size() == 1 && record.repetitions[0].aggregate != nullptr) return {};
  auto logs = CleanSeconds(record);
  for (double& one : logs) {
    if (!(one > 0)) return {};
    one = std::log(one);
  }
  return logs;
}

}  // namespace dlroof::compare
