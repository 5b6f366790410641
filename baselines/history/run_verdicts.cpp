#include <algorithm>
#include <ostream>

#include "baselines/compare/compare.h"
#include "baselines/history/builds.h"
#include "baselines/history/history.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"

namespace dlroof::history {

std::optional<statistics::Verdict> RunVerdicts::Of(const Point& point, const std::string& name) {
  if (!point.median) return std::nullopt;
  const auto [judged, added] = known_.try_emplace(point.run);
  if (added) judged->second = Judge(point.run);
  return FindCopy(judged->second, name);
}

TimedPoints TimedOf(const std::vector<Point>& points) {
  TimedPoints timed;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].median) {
      timed.index.push_back(i);
      timed.seconds.push_back(*points[i].median);
    }
  return timed;
}

SeriesProfile ProfileOf(const Series& series, const std::vector<Point>& points,
                        RunVerdicts& verdicts) {
  const auto timed = TimedOf(points);
  std::vector<double> waits;
  for (const auto i : timed.index)
    if (points[i].wall_over_cpu && series.threads == 1) waits.push_back(*points[i].wall_over_cpu);
  if (waits.size() < timed.index.size()) waits.clear();
  return ProfileOf(timed.seconds, verdicts.Of(points.back(), series.name), waits);
}

RunVerdicts::Verdicts RunVerdicts::Judge(std::int64_t run) const {
  Verdicts verdicts;
  const auto stored = std::ranges::find(runs_, run, &StoredRun::id);
  const auto contender = history_.Read(*stored);
  std::ostream silent(nullptr);
  const auto baseline =
      ChooseBaseline(history_, {runs_.begin(), stored}, kUsualRuns, contender, silent);
  if (baseline.empty()) return verdicts;
  try {
    const auto result = compare::CompareWithStored(baseline, contender, {});
    // If all moved together, each gets the common verdict: the site then shows one event of all.
    std::optional<statistics::Verdict> all;
    if (const auto& common = result.judged.common; common && common->is_unexplained)
      all = common->all.log_ratio > 0 ? statistics::Verdict::kSlower : statistics::Verdict::kFaster;
    for (const auto& row : result.rows)
      if (row.base != nullptr && row.contender != nullptr)
        verdicts[row.name()] = all && !statistics::IsChange(row.verdict) ? *all : row.verdict;
  } catch (const BadInput&) {  // its benchmarks or conventions are new: nothing to compare with
  }
  return verdicts;
}

}  // namespace dlroof::history
