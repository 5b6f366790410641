#include "baselines/compare/roof_shift.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "counters/base/numbers.h"

namespace dlroof::compare {
namespace {

constexpr double kDeviationOfMad = 1.4826;
constexpr double kOfMedian = 1.2533;        // standard error of a median / standard error of a mean
constexpr double kAssumedDeviation = 0.02;  // [1] of one ceiling, if there are few
constexpr std::size_t kMinForScatter = 4;

// Returns the ceiling's last measured rate [flop/s] or [byte/s] and its time of measurement.
std::pair<double, std::string> LastOf(const machine::Ceiling& row,
                                      const machine::Machine& machine) {
  if (row.visits.empty()) return {row.per_second, machine.measured_at};
  return {row.visits.back().per_second, row.visits.back().at};
}

}  // namespace

std::optional<statistics::MachineShift> RoofShiftOf(const machine::Machine& base,
                                                    const machine::Machine& contender) {
  std::vector<double> ratios;
  const auto add = [&](const auto& rows, const auto& others) {
    for (const auto& [key, row] : rows) {
      const auto found = others.find(key);
      if (found == others.end() || !row.IsValidated() || !found->second.IsValidated()) continue;
      const auto [before, then] = LastOf(row, base);
      const auto [after, now] = LastOf(found->second, contender);
      if (then != now && before > 0 && after > 0) ratios.push_back(std::log(before / after));
    }
  };
  for (const auto& [threads, set] : base.by_threads) {
    const auto found = contender.by_threads.find(threads);
    if (found == contender.by_threads.end()) continue;
    add(set.flops, found->second.flops);
    add(set.bytes, found->second.bytes);
  }
  if (ratios.empty()) return std::nullopt;
  const auto count = static_cast<double>(ratios.size());
  const double centre = Median(ratios);
  std::vector<double> distances;
  for (const double one : ratios) distances.push_back(std::abs(one - centre));
  double deviation = kAssumedDeviation * std::sqrt(2);
  if (ratios.size() >= kMinForScatter) deviation = kDeviationOfMad * Median(distances);
  return statistics::MachineShift{centre, kOfMedian * deviation / std::sqrt(count),
                                  static_cast<int>(ratios.size())};
}

}  // namespace dlroof::compare
