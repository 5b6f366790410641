#include <set>
#include <utility>

#include "ceilings/cpu/measure_steps.h"
#include "ceilings/cpu_kernels/flops.h"
#include "counters/cpu/clocks.h"

namespace dlroof {
namespace {

constexpr double kMostSeconds =
    1;  // [s] of one row at most; as soon as it proves itself it is done

// Null: there is no such row.
const Ceiling* FindRow(const CeilingSet& set, const std::string& row) {
  for (const auto* rows : {&set.flops, &set.mixes})
    if (const auto found = rows->find(row); found != rows->end()) return &found->second;
  return nullptr;
}

// For sets that may be changed, and for others.
template <class Set>
auto FindRoof(Set& set, const std::string& row) -> decltype(&set.flops.begin()->second) {
  const auto* ceiling = FindRow(set, row);
  if (ceiling == nullptr) return nullptr;
  const auto same = [&](auto& roof) {
    return roof.per_second == ceiling->per_second ? &roof : nullptr;
  };
  const auto plain = set.flops.find(PlainPipe(row));
  if (plain != set.flops.end()) return same(plain->second);
  const auto level = LevelFromKey(row.substr(0, row.find('.')));
  const auto roof = level ? set.bytes.find(*level) : set.bytes.end();
  return roof != set.bytes.end() ? same(roof->second) : nullptr;
}

}  // namespace

Ceiling* RoofOf(CeilingSet& set, const std::string& row) { return FindRoof(set, row); }
const Ceiling* RoofOf(const CeilingSet& set, const std::string& row) { return FindRoof(set, row); }

bool DecidesAnUnprovedRoof(const CeilingSet& set, const std::string& row) {
  const auto* roof = RoofOf(set, row);
  if (roof != nullptr && FindRow(set, row)->unbounded) return false;  // it would be so again
  // Larger teams and measured knees may doubt the roof alone.
  return roof != nullptr && !(FindRow(set, row)->proved && roof->proved);
}

bool MeasureUnprovedAgain(MeasureSession& session) {
  const double end = WallSeconds() + session.effort.again_seconds;
  std::set<std::pair<int, std::string>> done;
  for (const auto& step : session.steps) {
    if (WallSeconds() >= end) break;
    if (step.row.empty() || done.contains({step.threads, step.row}) ||
        !DecidesAnUnprovedRoof(session.machine.by_threads.at(step.threads), step.row))
      continue;
    // A step makes threads of its own where it finds none.
    if (session.bench && session.bench->threads() != step.threads) session.bench.reset();
    TryStep(session, step, kMostSeconds);
    done.emplace(step.threads, step.row);
  }
  return !done.empty();
}

}  // namespace dlroof
