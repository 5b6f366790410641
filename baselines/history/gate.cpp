#include "baselines/history/gate.h"

#include <algorithm>
#include <ostream>
#include <unordered_map>

#include "baselines/compare/paired_record.h"
#include "counters/base/error.h"

namespace dlroof::history {
namespace {

using statistics::Verdict;

bool BothRan(const compare::Comparison& row) {
  return row.base != nullptr && row.contender != nullptr &&
         row.base->status == record::Status::kOk && row.contender->status == record::Status::kOk;
}

// Returns how suspicious a row is, from 0, or nothing if a slowdown is excluded.
std::optional<double> Suspicion(const compare::Comparison& row, double min_effect) {
  constexpr double kSlowerFirst = 1e6;
  if (!BothRan(row)) return std::nullopt;
  if (row.verdict == Verdict::kInsufficient) return 0;
  if (!row.judgement) return std::nullopt;
  if (row.verdict == Verdict::kSlower) return kSlowerFirst + row.judgement->ratio;
  const bool possible = row.judgement->ci95.second > 1 + min_effect;
  if (row.verdict == Verdict::kAmbiguous && possible) return row.judgement->ratio;
  return std::nullopt;
}

}  // namespace

std::vector<history::StoredRun> RunsOfBranch(const std::vector<history::StoredRun>& runs,
                                             const std::string& branch,
                                             const std::set<std::string>& reachable) {
  std::vector<history::StoredRun> named, reached;
  for (const auto& run : runs) {
    if (run.branch == branch) named.push_back(run);
    if (run.branch.empty() && reachable.contains(run.commit)) reached.push_back(run);
  }
  return named.empty() ? reached : named;
}

Baseline ChooseBaseline(const history::History& history,
                        const std::vector<history::StoredRun>& runs, std::size_t most,
                        const compare::NamedRun& contender, std::ostream& warnings) {
  Baseline baseline;
  for (auto run = runs.rbegin(); run != runs.rend() && baseline.runs.size() < most; ++run) {
    auto named = history.Read(*run);
    try {
      compare::CheckComparable(named, contender, compare::PairRecords(named, contender, {}), false);
    } catch (const BadInput& error) {
      warnings << "skipped: " << error.what() << '\n';
      continue;
    }
    baseline.runs.push_back(std::move(named));
    baseline.commits.push_back(run->commit);
  }
  std::ranges::reverse(baseline.runs);
  std::ranges::reverse(baseline.commits);
  return baseline;
}

std::vector<std::string> UnclearNames(const compare::CompareResult& result,
                                      const std::set<std::string>& settled) {
  std::vector<std::pair<double, std::string>> suspects;
  for (const auto& row : result.rows)
    if (const auto suspicion = Suspicion(row, result.min_effect);
        suspicion && !settled.contains(row.name()))
      suspects.emplace_back(-*suspicion, row.name());
  std::ranges::sort(suspects);
  std::vector<std::string> names;
  for (auto& [order, name] : suspects) names.push_back(std::move(name));
  return names;
}

std::set<std::string> ReplaceRows(const compare::CompareResult& later,
                                  const compare::CompareOptions& options,
                                  compare::CompareResult& result) {
  std::unordered_map<std::string, const compare::Comparison*> by_name;
  for (const auto& row : later.rows)
    if (BothRan(row) && row.judgement) by_name.emplace(row.name(), &row);
  std::set<std::string> replaced;
  for (auto& row : result.rows) {
    const auto found = by_name.find(row.name());
    if (found == by_name.end()) continue;
    const auto* stored = row.stored;
    row = *found->second;
    row.stored = stored;
    replaced.insert(row.name());
  }
  CountVerdicts(options, result);
  return replaced;
}

}  // namespace dlroof::history
