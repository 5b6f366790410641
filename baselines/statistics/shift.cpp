#include "baselines/statistics/shift.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "counters/base/numbers.h"

namespace dlroof::statistics {

double RobustDeviation(std::vector<double> values, double centre) {
  constexpr double kOfMedian = 1.4826;  // deviation / median distance, of normal values
  for (double& value : values) value = std::abs(value - centre);
  return kOfMedian * Median(std::move(values));
}

using boost::math::cdf, boost::math::complement, boost::math::quantile;

// double, not long double: 1e-13 is accurate enough, and files of 100,000 benchmarks need speed.
using Student = boost::math::students_t_distribution<
    double, boost::math::policies::policy<boost::math::policies::promote_double<false>>>;

double StudentTwoSided(double t, double degrees) {
  return 2 * cdf(complement(Student(degrees), std::abs(t)));
}

double StudentQuantile(double degrees, double error) {
  return quantile(complement(Student(degrees), error / 2));
}

std::vector<double> AdjustedPValues(const std::vector<double>& p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  const auto count = static_cast<double>(p_values.size());
  double least = 1;
  for (std::size_t rank = order.size(); rank > 0; --rank) {
    least = std::min(least, p_values[order[rank - 1]] * count / static_cast<double>(rank));
    adjusted[order[rank - 1]] = least;
  }
  return adjusted;
}

namespace {

using Windows = std::map<int, std::vector<const record::Repetition*>>;

Windows ByBlock(const record::Record& record) {
  Windows windows;
  for (const auto& repetition : record.repetitions)
    if (repetition.block) windows[*repetition.block].push_back(&repetition);
  return windows;
}

// Returns the means of all pairs of values (including each value with itself), ascending.
std::vector<double> WalshAverages(const std::vector<double>& values) {
  std::vector<double> averages;
  averages.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = i; j < values.size(); ++j) averages.push_back((values[i] + values[j]) / 2);
  std::ranges::sort(averages);
  return averages;
}

// Returns the two-sided p-value of the signed-rank statistic W: the number of Walsh averages above
// 0, plus half of those equal to 0 (Tukey).
double TwoSided(const std::vector<double>& averages, const std::vector<double>& cumulated) {
  double above = 0;
  for (const double average : averages) above += average > 0 ? 1 : average == 0 ? 0.5 : 0;
  const double least = std::ceil(std::min(above, static_cast<double>(averages.size()) - above));
  return std::min(1.0, 2 * cumulated[static_cast<std::size_t>(least)]);
}

}  // namespace

std::vector<double> BlockLogRatios(const record::Record& base, const record::Record& contender) {
  const Windows base_windows = ByBlock(base), contender_windows = ByBlock(contender);
  std::vector<double> log_ratios;
  for (const auto& [block, windows] : base_windows) {
    const auto found = contender_windows.find(block);
    if (found == contender_windows.end()) continue;
    const std::size_t count = std::max(windows.size(), found->second.size());
    std::vector<double> all, clean;
    for (std::size_t i = 0; i < std::min(windows.size(), found->second.size()); ++i) {
      const record::Repetition &old = *windows[i], &now = *found->second[i];
      if (old.seconds <= 0 || now.seconds <= 0) continue;
      all.push_back(std::log(now.seconds / old.seconds));
      if (!old.noisy && !now.noisy) clean.push_back(all.back());
    }
    if (!all.empty()) log_ratios.push_back(Median(2 * clean.size() >= count ? clean : all));
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

std::optional<Shift> MeasurePairedShift(const std::vector<double>& log_ratios, double level) {
  const auto n = static_cast<int>(log_ratios.size());
  const auto cumulated = SignedRankCumulated(n);
  std::size_t cut = 0;  // the interval omits cut - 1 averages on each side
  while (2 * cumulated[cut] <= 1 - level) ++cut;
  if (cut == 0) return std::nullopt;
  const auto averages = WalshAverages(log_ratios);
  Shift shift{.log_ratio = MedianOfSorted(averages),
              .ci95 = {averages[cut - 1], averages[averages.size() - cut]},
              .p_value = TwoSided(averages, cumulated)};
  const double reached = 1 - 2 * cumulated[cut - 1];
  shift.standard_error = (shift.ci95.second - shift.ci95.first) /
                         (2 * quantile(boost::math::normal(), (1 + reached) / 2));
  return shift;
}

std::optional<Shift> MeasureSequentialShift(const std::vector<double>& log_ratios, double error) {
  auto paired = MeasurePairedShift(log_ratios, 1 - error / kLooks.size());
  if (paired) paired->p_value = std::min(1.0, kLooks.size() * paired->p_value);
  return paired;
}

}  // namespace dlroof::statistics
