#include "baselines/history/earlier_runs.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "baselines/compare/compare_stored.h"

namespace dlroof::history {
namespace {

// Returns whether the runs are of one machine; plain Google Benchmark files do not say theirs.
bool SharesMachine(const record::RunFile& a, const record::RunFile& b) {
  if (a.machines.empty() || b.machines.empty()) return a.machines.empty() && b.machines.empty();
  return std::ranges::any_of(a.machines, [&](const auto& one) {
    return std::ranges::any_of(
        b.machines, [&](const auto& other) { return one.fingerprint == other.fingerprint; });
  });
}

}  // namespace

std::vector<compare::NamedRun> EarlierRuns(const History& history, const compare::NamedRun& base,
                                           int most) {
  const auto moment = compare::Moment(base.file);
  std::unordered_set<std::string_view> names;
  for (const auto& record : base.file.records) names.insert(record.name);
  auto stored = history.Runs();
  std::vector<compare::NamedRun> runs;
  for (auto run = stored.rbegin(); run != stored.rend() && static_cast<int>(runs.size()) < most;
       ++run) {
    if (moment && run->moment && *run->moment >= *moment) continue;
    auto read = history.Read(*run);
    if (!SharesMachine(read.file, base.file)) continue;
    if (std::ranges::any_of(read.file.records,
                            [&](const auto& record) { return names.contains(record.name); }))
      runs.push_back(std::move(read));
  }
  std::ranges::reverse(runs);
  return runs;
}

}  // namespace dlroof::history
