#include "baselines/statistics/sequential.h"

#include <algorithm>
#include <cmath>

#include "baselines/statistics/judge.h"

namespace dlroof::statistics {
namespace {

constexpr double kMostFalse = 0.01;

}  // namespace

std::optional<PairedShift> MeasureSequentialShift(const std::vector<double>& log_ratios,
                                                  double error) {
  auto paired = MeasurePairedShift(log_ratios, 1 - error / kLooks.size());
  if (paired) paired->p_value = std::min(1.0, kLooks.size() * paired->p_value);
  return paired;
}

bool IsSettled(const PairedShift& paired, const StopRule& rule) {
  const double bound = std::log1p(rule.min_effect);
  const auto& [low, high] = paired.shift.ci95;
  if (low >= -bound && high <= bound) return true;
  const double most = std::min(kMostFalse, kFalseDiscoveryRate / std::max(1, rule.benchmarks));
  return std::abs(paired.shift.log_ratio) > bound && paired.p_value <= most;
}

}  // namespace dlroof::statistics
