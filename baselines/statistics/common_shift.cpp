#include "baselines/statistics/common_shift.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "counters/base/order_statistics.h"

namespace dlroof {
namespace {

// Fewer benchmarks than this are not a whole run: 10 go one way by chance in 1 of 512 runs.
constexpr int kLeastForCommon = 10;
constexpr double kNearlyAll = 0.9;
// Roofs that moved by less than this part of the common shift did not cause it; by more than the
// other, they did.
constexpr double kUnmoved = 0.25, kMoved = 0.5;

void AddEvidence(const std::vector<Movement>& movements, CommonShift& common) {
  std::vector<double> roofs;
  for (const auto& movement : movements)
    if (movement.roof_log_ratio) roofs.push_back(*movement.roof_log_ratio);
  if (2 * roofs.size() < movements.size()) return;
  common.roof_log_ratio = Median(std::move(roofs));
  const double part = *common.roof_log_ratio / common.log_ratio;
  if (std::abs(part) <= kUnmoved) common.roofs = RoofEvidence::kDidNotMove;
  if (part >= kMoved) common.roofs = RoofEvidence::kMovedToo;
}

std::string EvidenceText(const CommonShift& common) {
  switch (common.roofs) {
    case RoofEvidence::kMovedToo:
      return fmt::format(
          "the roofs measured in each run moved by {:.3f} too, so the machine changed",
          std::exp(*common.roof_log_ratio));
    case RoofEvidence::kDidNotMove:
      return fmt::format(
          "the roofs measured in each run did not ({:.3f}), so what all benchmarks "
          "share changed: build, library or settings",
          std::exp(*common.roof_log_ratio));
    case RoofEvidence::kNone:
      break;
  }
  return "the machine changed, or what all benchmarks share (no ceilings of each run's own say "
         "which: dlroof machine --remeasure before each run)";
}

}  // namespace

std::optional<CommonShift> FindCommonShift(const std::vector<Movement>& movements,
                                           double tolerance) {
  if (movements.size() < kLeastForCommon) return std::nullopt;
  std::vector<double> logs;
  logs.reserve(movements.size());
  for (const auto& movement : movements) logs.push_back(movement.log_ratio);
  std::ranges::sort(logs);
  const std::size_t count = logs.size();
  CommonShift common{.log_ratio = (logs[(count - 1) / 2] + logs[count / 2]) / 2,
                     .middle = {logs[count / 4], logs[count - 1 - count / 4]},
                     .benchmarks = static_cast<int>(count)};
  int near = 0;
  for (const auto& movement : movements) {
    common.same_way += movement.log_ratio * common.log_ratio > 0 ? 1 : 0;
    near += std::abs(movement.log_ratio - common.log_ratio) <= 2 * movement.deviation + tolerance
                ? 1
                : 0;
  }
  const double enough = kNearlyAll * static_cast<double>(count);
  if (common.same_way < enough || near < enough) return std::nullopt;
  AddEvidence(movements, common);
  return common;
}

std::string Describe(const CommonShift& common) {
  return fmt::format(
      "{} of {} benchmarks are {} by about the same factor, {:.3f} (half of them {:.3f} "
      "to {:.3f}): {}",
      common.same_way, common.benchmarks, common.log_ratio > 0 ? "slower" : "faster",
      std::exp(common.log_ratio), std::exp(common.middle.first), std::exp(common.middle.second),
      EvidenceText(common));
}

}  // namespace dlroof
