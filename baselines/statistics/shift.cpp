#include "baselines/statistics/shift.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <map>
#include <numbers>
#include <numeric>

#include "counters/base/numbers.h"

namespace dlroof::statistics {

using boost::math::cdf, boost::math::complement, boost::math::quantile;
using boost::math::normal;

double NormalTail(double z) { return cdf(complement(normal(), z)); }

double NormalQuantile(double probability) { return quantile(normal(), probability); }

// In double, not in long double: 1e-13 is enough, and files of 100,000 benchmarks ask often.
using Student = boost::math::students_t_distribution<
    double, boost::math::policies::policy<boost::math::policies::promote_double<false>>>;

double StudentTwoSided(double t, double degrees) {
  return 2 * cdf(complement(Student(degrees), std::abs(t)));
}

double StudentQuantile95(double degrees) {
  constexpr std::size_t kMaxDegrees = 200;
  // From 200 degrees of freedom on, the quantile is within 0.5 % of the normal distribution's.
  static const auto quantiles = [] {
    std::array<double, kMaxDegrees> all{};
    for (std::size_t i = 0; i < kMaxDegrees; ++i)
      all[i] = quantile(complement(Student(static_cast<double>(i + 1)), 0.025));
    return all;
  }();
  return quantiles[static_cast<std::size_t>(std::clamp(degrees, 1.0, 1.0 * kMaxDegrees)) - 1];
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

constexpr int kLargestExact = 400;  // pairs; for more the normal approximation has an error < 1e-3
constexpr std::size_t kMaxValues = 256;  // per run; more are grouped

// Returns P(U <= u) for u = 0, 1, ...: U is the number of (BASE, NEW) pairs whose NEW is smaller,
// if all orders of n + m values are equally likely. Recursion over the largest value, which is from
// NEW or from BASE.
std::vector<double> MannWhitneyCumulated(int n, int m) {
  // ways[j][u]: orders of i BASE and j NEW values with U = u, for the current i.
  std::vector<std::vector<double>> ways(m + 1, std::vector<double>(n * m + 1, 0.0));
  for (auto& row : ways) row[0] = 1;
  for (int i = 1; i <= n; ++i)
    for (int j = 1; j <= m; ++j) {
      // ways[j] is still for i - 1. If the largest value is BASE's, all j NEW values are smaller.
      std::vector<double> next(n * m + 1, 0.0);
      for (int u = 0; u <= i * j; ++u) next[u] = (u >= j ? ways[j][u - j] : 0) + ways[j - 1][u];
      ways[j] = next;
    }
  double all = 0;
  for (const double count : ways[m]) all += count;
  std::vector<double> cumulated;
  double sum = 0;
  for (const double count : ways[m]) cumulated.push_back((sum += count) / all);
  return cumulated;
}

std::optional<IntervalRank> ExactRank(int n, int m) {
  const auto cumulated = MannWhitneyCumulated(n, m);
  IntervalRank rank;
  while (2 * cumulated[rank.cut] <= 0.05) {
    rank.level = 1 - 2 * cumulated[rank.cut];
    ++rank.cut;
  }
  return rank.cut > 0 ? std::optional(rank) : std::nullopt;
}

IntervalRank ApproximateRank(int n, int m) {
  const double pairs = static_cast<double>(n) * m;
  const double deviation = std::sqrt(pairs * (n + m + 1) / 12);
  const double cut = std::floor(pairs / 2 - NormalQuantile(0.975) * deviation);
  return {static_cast<int>(cut), 1 - 2 * NormalTail((pairs / 2 - cut + 0.5) / deviation)};
}

// Returns the values' logarithms, or nothing if one is not positive. Long samples are reduced to
// the medians of equal, consecutive groups, which also reduces the correlation of neighbours.
std::optional<std::vector<double>> Logarithms(const std::vector<double>& values) {
  std::vector<double> logs;
  const std::size_t groups = std::min(values.size(), kMaxValues);
  logs.reserve(groups);
  const auto start = [&](std::size_t group) {
    return values.begin() + static_cast<std::ptrdiff_t>(group * values.size() / groups);
  };
  for (std::size_t group = 0; group < groups; ++group) {
    const auto begin = start(group), end = start(group + 1);
    if (!std::all_of(begin, end, [](double value) { return value > 0; })) return std::nullopt;
    logs.push_back(std::log(end - begin == 1 ? *begin : Median({begin, end})));
  }
  return logs;
}

// The values at the ends of the interval and in the middle of a sorted list.
struct Ranked {
  double low = 0, lower_median = 0, upper_median = 0, high = 0;
};

// Returns the values at these ranks by partial sorts, each in the range that the last one left.
Ranked RankedValues(std::vector<double>& values, std::size_t low, std::size_t high) {
  const std::size_t lower = (values.size() - 1) / 2, upper = values.size() / 2;
  double* const all = values.data();
  const auto put = [&](std::size_t begin, std::size_t rank, std::size_t end) {
    std::nth_element(all + begin, all + rank, all + end);
  };
  put(0, lower, values.size());
  if (low < lower) put(0, low, lower);
  if (high > lower) put(lower + 1, high, values.size());
  if (upper > lower && upper < high) put(lower + 1, upper, high);
  return {all[low], all[lower], all[upper], all[high]};
}

using Windows = std::map<int, std::vector<const record::Repetition*>>;

Windows ByBlock(const record::Record& record) {
  Windows windows;
  for (const auto& repetition : record.repetitions)
    if (repetition.block) windows[*repetition.block].push_back(&repetition);
  return windows;
}

// Returns the means of all pairs of values (also of each value with itself), sorted.
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

std::optional<IntervalRank> IntervalRank95(int n, int m) {
  static thread_local std::map<std::pair<int, int>, std::optional<IntervalRank>> known;
  const auto [found, added] = known.try_emplace({std::min(n, m), std::max(n, m)});
  if (added && n > 0 && m > 0)
    found->second = n * m <= kLargestExact ? ExactRank(n, m) : ApproximateRank(n, m);
  auto& rank = found->second;
  if (added && rank) rank->quantile = NormalQuantile((1 + rank->level) / 2);
  return rank;
}

std::optional<Shift> MeasureShift(const std::vector<double>& base,
                                  const std::vector<double>& contender) {
  if (std::min(base.size(), contender.size()) < kMinClean) return std::nullopt;
  const auto base_logs = Logarithms(base), contender_logs = Logarithms(contender);
  if (!base_logs || !contender_logs) return std::nullopt;
  const auto n = static_cast<int>(base_logs->size()), m = static_cast<int>(contender_logs->size());
  const auto rank = IntervalRank95(n, m);
  if (!rank) return std::nullopt;
  std::vector<double> differences(base_logs->size() * contender_logs->size());
  auto next = differences.begin();
  int larger = 0, smaller = 0;
  for (const double x : *base_logs)
    for (const double y : *contender_logs) {
      *next++ = y - x;
      larger += y > x ? 1 : 0;
      smaller += y < x ? 1 : 0;
    }
  const std::size_t pairs = differences.size();
  const auto ranked = RankedValues(differences, rank->cut - 1, pairs - rank->cut);
  Shift shift;
  shift.ci95 = {ranked.low, ranked.high};
  shift.log_ratio = (ranked.lower_median + ranked.upper_median) / 2;
  shift.standard_error = (shift.ci95.second - shift.ci95.first) / (2 * rank->quantile);
  shift.degrees = n + m - 2;
  shift.cliffs_delta = static_cast<double>(larger - smaller) / static_cast<double>(pairs);
  return shift;
}

std::optional<TimeSummary> SummaryOf(const std::vector<record::Repetition>& repetitions) {
  if (repetitions.size() == 1 && repetitions[0].aggregate != nullptr) {
    const auto& aggregate = *repetitions[0].aggregate;
    const auto error = record::RelativeError(aggregate);
    if (!error || !(repetitions[0].seconds > 0)) return std::nullopt;
    return TimeSummary{std::log(repetitions[0].seconds), *error, aggregate.deviation.value(),
                       aggregate.repetitions.value()};
  }
  std::vector<double> clean;
  for (const auto& repetition : repetitions)
    if (!repetition.noisy) clean.push_back(repetition.seconds);
  const auto logs = Logarithms(clean);
  if (!logs || logs->size() < kMinClean) return std::nullopt;
  const auto count = static_cast<double>(logs->size());
  const double mean = std::accumulate(logs->begin(), logs->end(), 0.0) / count;
  double squares = 0;
  for (const double one : *logs) squares += (one - mean) * (one - mean);
  TimeSummary summary{.log_seconds = Median(*logs), .repetitions = static_cast<int>(logs->size())};
  summary.deviation = std::sqrt(squares / (count - 1));
  summary.standard_error = summary.deviation * std::sqrt(std::numbers::pi / 2 / count);
  return summary;
}

Shift ShiftOfSummaries(const TimeSummary& base, const TimeSummary& contender) {
  Shift shift;
  shift.log_ratio = contender.log_seconds - base.log_seconds;
  shift.standard_error = std::hypot(base.standard_error, contender.standard_error);
  shift.degrees = base.repetitions + contender.repetitions - 2;
  const double half = StudentQuantile95(shift.degrees) * shift.standard_error;
  shift.ci95 = {shift.log_ratio - half, shift.log_ratio + half};
  const double spread = std::hypot(base.deviation, contender.deviation);
  if (spread > 0)
    shift.cliffs_delta = 1 - 2 * NormalTail(shift.log_ratio / spread);
  else if (shift.log_ratio != 0)
    shift.cliffs_delta = shift.log_ratio > 0 ? 1 : -1;
  return shift;
}

std::vector<double> BlockLogRatios(const record::Record& base, const record::Record& contender) {
  const Windows base_windows = ByBlock(base), contender_windows = ByBlock(contender);
  std::vector<double> log_ratios;
  for (const auto& [block, windows] : base_windows) {
    const auto found = contender_windows.find(block);
    if (found == contender_windows.end()) continue;
    const std::size_t count = std::max(windows.size(), found->second.size());
    std::vector<double> clean;
    for (std::size_t i = 0; i < std::min(windows.size(), found->second.size()); ++i) {
      const record::Repetition &old = *windows[i], &now = *found->second[i];
      if (old.noisy || now.noisy || old.seconds <= 0 || now.seconds <= 0) continue;
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
  std::size_t cut = 0;  // rank of the interval's ends among the averages, from each side
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

}  // namespace dlroof::statistics
