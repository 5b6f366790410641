#include "baselines/statistics/paired_shift.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "baselines/statistics/significance.h"
#include "counters/base/order_statistics.h"

namespace dlroof {
namespace {

using Windows = std::map<int, std::vector<const Repetition*>>;

Windows ByBlock(const Record& record) {
  Windows windows;
  for (const auto& repetition : record.repetitions)
    if (repetition.block) windows[*repetition.block].push_back(&repetition);
  return windows;
}

// Means of two values, each with itself too, sorted.
std::vector<double> WalshAverages(const std::vector<double>& values) {
  std::vector<double> averages;
  averages.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = i; j < values.size(); ++j) averages.push_back((values[i] + values[j]) / 2);
  std::ranges::sort(averages);
  return averages;
}

// W as a count of averages (Tukey): those above 0, and half of those that are 0.
double TwoSided(const std::vector<double>& averages, const std::vector<double>& cumulated) {
  double above = 0;
  for (const double average : averages) above += average > 0 ? 1 : average == 0 ? 0.5 : 0;
  const double least = std::ceil(std::min(above, static_cast<double>(averages.size()) - above));
  return std::min(1.0, 2 * cumulated[static_cast<std::size_t>(least)]);
}

}  // namespace

std::vector<double> BlockLogRatios(const Record& base, const Record& fresh) {
  const Windows base_windows = ByBlock(base), fresh_windows = ByBlock(fresh);
  std::vector<double> log_ratios;
  for (const auto& [block, windows] : base_windows) {
    const auto found = fresh_windows.find(block);
    if (found == fresh_windows.end()) continue;
    const std::size_t count = std::max(windows.size(), found->second.size());
    std::vector<double> clean;
    for (std::size_t i = 0; i < std::min(windows.size(), found->second.size()); ++i) {
      const Repetition &old = *windows[i], &now = *found->second[i];
      if (old.disturbed || now.disturbed || old.seconds <= 0 || now.seconds <= 0) continue;
      clean.push_back(std::log(now.seconds / old.seconds));
    }
    if (!clean.empty() && 2 * clean.size() >= count) log_ratios.push_back(Median(std::move(clean)));
  }
  return log_ratios;
}

std::vector<double> SignedRankCumulated(int n) {
  std::vector<double> chance = {1};
  for (int rank = 1; rank <= n; ++rank) {
    std::vector<double> next(chance.size() + static_cast<std::size_t>(rank), 0.0);
    for (std::size_t sum = 0; sum < chance.size(); ++sum) {
      next[sum] += chance[sum] / 2;
      next[sum + static_cast<std::size_t>(rank)] += chance[sum] / 2;
    }
    chance = std::move(next);
  }
  double sum = 0;
  for (double& value : chance) value = (sum += value);
  return chance;
}

std::optional<PairedShift> MeasurePairedShift(const std::vector<double>& log_ratios, double level) {
  const auto n = static_cast<int>(log_ratios.size());
  const auto cumulated = SignedRankCumulated(n);
  std::size_t cut = 0;  // averages beyond each end of the interval, and the end itself
  while (2 * cumulated[cut] <= 1 - level) ++cut;
  if (cut == 0) return std::nullopt;
  const auto averages = WalshAverages(log_ratios);
  PairedShift paired{.p_value = TwoSided(averages, cumulated)};
  Shift& shift = paired.shift;
  shift.log_ratio = Median(averages);
  shift.ci95 = {averages[cut - 1], averages[averages.size() - cut]};
  const double reached = 1 - 2 * cumulated[cut - 1];
  shift.standard_error =
      (shift.ci95.second - shift.ci95.first) / (2 * NormalQuantile((1 + reached) / 2));
  shift.degrees = n - 1;
  int slower = 0;
  for (const double ratio : log_ratios) slower += ratio > 0 ? 1 : ratio < 0 ? -1 : 0;
  shift.cliffs_delta = static_cast<double>(slower) / n;
  return paired;
}

}  // namespace dlroof
