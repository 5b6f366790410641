#include "bench/tune/trial_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "bench/tune/space.h"

namespace dlroof::tune {
namespace {

// [1] Another setting of the likely kind may save about half of the busy time above the roof, one
// of the other kind an eighth. Fewer threads may save all that a team costs.
constexpr double kLikely = 0.5, kUnlikely = 0.125;

double ShareOf(const breakdown::Ledger& ledger, std::initializer_list<breakdown::PartKind> kinds) {
  double seconds = 0;
  for (const auto kind : kinds)
    if (const auto* part = ledger.Find(kind)) seconds += part->seconds;
  return seconds / ledger.seconds;
}

bool ActsOnMemory(const std::string& coordinate) {
  return coordinate == kPagesCoordinate || coordinate == kAllocatorCoordinate ||
         coordinate.starts_with("layout");
}

}  // namespace

void SortByLedger(const breakdown::Ledger& ledger, bool memory_bound, std::vector<tuning::Coordinate>& coordinates) {
  if (ledger.seconds <= 0) return;
  const double team = ShareOf(ledger, {breakdown::PartKind::kForkJoin, breakdown::PartKind::kImbalance, breakdown::PartKind::kSerial,
                                       breakdown::PartKind::kStolen, breakdown::PartKind::kSharing});
  const double busy =
      ShareOf(ledger, {breakdown::PartKind::kFunctions, breakdown::PartKind::kProducts, breakdown::PartKind::kLanes,
                       breakdown::PartKind::kLoads, breakdown::PartKind::kInstructions, breakdown::PartKind::kKernel,
                       breakdown::PartKind::kDistance, breakdown::PartKind::kLevels, breakdown::PartKind::kUnexplained});
  std::map<std::string, double> score;
  for (auto& coordinate : coordinates) {
    const bool likely = ActsOnMemory(coordinate.name) == memory_bound;
    score[coordinate.name] = busy * (likely ? kLikely : kUnlikely);
    coordinate.reason = fmt::format(
        "{:.0f} % of the default's time is the threads' own work above the roof, which is {}",
        100 * busy, memory_bound ? "a bandwidth" : "arithmetic");
    if (coordinate.name != kThreadsCoordinate) continue;
    // Fewer or other cores may be as fast where the call waits for memory.
    score[coordinate.name] = memory_bound ? 1 : team;
    coordinate.reason = fmt::format(
        "{:.0f} % of the default's time is fork, join, waiting, sharing and serial parts",
        100 * team);
  }
  std::ranges::stable_sort(coordinates, [&](const tuning::Coordinate& a, const tuning::Coordinate& b) {
    return score.at(a.name) > score.at(b.name);
  });
}

void SortByProgram(const programs::ProgramLedger& ledger, const ActsOn& acts_on,
                   std::vector<tuning::Coordinate>& coordinates) {
  if (ledger.seconds <= 0) return;
  std::map<std::string, double> shares;
  for (auto& coordinate : coordinates) {
    const auto found = acts_on.find(coordinate.name);
    double& share = shares[coordinate.name] = 1;
    if (found == acts_on.end()) continue;
    share = 0;
    for (const auto& part : ledger.parts)
      if (found->second.contains(part.kind)) share += part.seconds / ledger.seconds;
    coordinate.reason +=
        fmt::format("{}it acts on {:.0f} % of the {}", coordinate.reason.empty() ? "" : "; ",
                    100 * share, ledger.of_step ? "step" : "program's time");
  }
  std::ranges::stable_sort(coordinates, [&](const tuning::Coordinate& a, const tuning::Coordinate& b) {
    return shares.at(a.name) > shares.at(b.name);
  });
}

}  // namespace dlroof::tune
