#include <algorithm>
#include <ostream>

#include "baselines/compare/compare.h"
#include "baselines/history/builds.h"
#include "baselines/history/history.h"
#include "counters/base/error.h"

namespace dlroof::history {

NewestVerdict RunVerdicts::Of(std::int64_t run, const std::string& name) {
  const auto [judged, added] = known_.try_emplace(run);
  if (added) judged->second = Judge(run);
  const auto found = judged->second.find(name);
  return found == judged->second.end() ? NewestVerdict::kUnknown : found->second;
}

std::map<std::string, NewestVerdict> RunVerdicts::Judge(std::int64_t run) const {
  using statistics::Verdict;
  std::map<std::string, NewestVerdict> verdicts;
  const auto stored = std::ranges::find(runs_, run, &StoredRun::id);
  const auto contender = history_.Read(*stored);
  std::ostream silent(nullptr);
  const auto baseline =
      ChooseBaseline(history_, {runs_.begin(), stored}, kUsualRuns, contender, silent);
  if (baseline.empty()) return verdicts;
  try {
    const auto result = compare::CompareWithStored(baseline, contender, {});
    if (result.judged.common && result.judged.common->is_unexplained) return verdicts;
    for (const auto& row : result.rows)
      if (row.base != nullptr && row.contender != nullptr)
        verdicts[row.name()] = row.verdict == Verdict::kSlower   ? NewestVerdict::kSlower
                               : row.verdict == Verdict::kFaster ? NewestVerdict::kFaster
                                                                 : NewestVerdict::kNoChange;
  } catch (const BadInput&) {  // its benchmarks or conventions are new: nothing to compare with
  }
  return verdicts;
}

}  // namespace dlroof::history
