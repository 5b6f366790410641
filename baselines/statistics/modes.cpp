#include "baselines/statistics/modes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "counters/base/numbers.h"

namespace dlroof::statistics {
namespace {

constexpr double kDeviationOfMad = 1.4826;
constexpr double kOutlier = 4.5;      // [deviations]
constexpr double kLeastApart = 0.02;  // [1] distance of two modes
// [1] The same of two runs taken together: closer speeds look like noise and a change.
constexpr double kLeastApartTogether = 0.06;
constexpr std::size_t kLeastOfMode = 2;
constexpr std::size_t kFewValues = 4;

// [1] Largest mean square within two groups / of one group that shows two modes: a normal sample is
// below it in fewer than about 1 of 300 samples (simulated).
double LargestShare(std::size_t count) {
  constexpr std::pair<std::size_t, double> kShares[] = {
      {8, 0.08}, {12, 0.12}, {20, 0.16}, {40, 0.20}, {100, 0.24}};
  double share = 0.05;
  for (const auto& [least, value] : kShares)
    if (count >= least) share = value;
  return share;
}

// The same of the values of two runs that both have values in both groups: a normal sample is below
// it in about 1 of 50.
double LargestShareTogether(std::size_t count) {
  constexpr std::pair<std::size_t, double> kShares[] = {
      {12, 0.18}, {16, 0.2}, {20, 0.22}, {40, 0.26}};
  double share = 0.12;
  for (const auto& [least, value] : kShares)
    if (count >= least) share = value;
  return share;
}

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The best split of sorted values into two groups.
struct Split {
  std::size_t at = 0;  // first value of the second group
  double share = 1;    // [1] mean square within the groups / of one group
  double apart = 0;    // [1] distance of the means
};

// Returns the best split into groups of at least `least_of_group` values, or nothing.
std::optional<Split> BestSplit(const std::vector<double>& sorted, std::size_t least_of_group) {
  const std::size_t count = sorted.size();
  if (count < std::max<std::size_t>(2 * least_of_group, 3)) return std::nullopt;
  const double centre = sorted[count / 2];
  double all = 0, all_squares = 0;
  for (const double one : sorted) {
    all += one - centre;
    all_squares += (one - centre) * (one - centre);
  }
  const auto within = [](double sum, double squares, double n) { return squares - sum * sum / n; };
  const double total = within(all, all_squares, static_cast<double>(count));
  double sum = 0, squares = 0, least = total;
  std::size_t at = 0;
  for (std::size_t i = 1; i < count; ++i) {
    const double one = sorted[i - 1] - centre;
    sum += one;
    squares += one * one;
    if (i < least_of_group || count - i < least_of_group) continue;
    const double both = within(sum, squares, static_cast<double>(i)) +
                        within(all - sum, all_squares - squares, static_cast<double>(count - i));
    if (both < least) {
      least = both;
      at = i;
    }
  }
  if (at == 0 || !(total > 0)) return std::nullopt;
  const std::vector<double> low(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(at)),
      high(sorted.begin() + static_cast<std::ptrdiff_t>(at), sorted.end());
  return Split{at,
               least / static_cast<double>(count - 2) / (total / static_cast<double>(count - 1)),
               MeanOf(high) - MeanOf(low)};
}

// Returns where sorted values are split into two modes, if they are.
std::optional<std::size_t> SplitOf(const std::vector<double>& sorted) {
  const auto split = BestSplit(sorted, kLeastOfMode);
  if (!split || split->share > LargestShare(sorted.size()) || split->apart < kLeastApart)
    return std::nullopt;
  return split->at;
}

// Removes outliers from sorted values; returns their number.
int LeaveOut(std::vector<double>& sorted) {
  if (sorted.size() < kFewValues) return 0;
  const double median = MedianOfSorted(sorted);
  std::vector<double> distances;
  distances.reserve(sorted.size());
  for (const double one : sorted) distances.push_back(std::abs(one - median));
  const double reach = kOutlier * kDeviationOfMad * Median(std::move(distances));
  // With fewer than ten values the median absolute deviation may be small by chance.
  const double bound = std::max(reach, 0.002) * (sorted.size() < 10 ? 1.3 : 1.0);
  return static_cast<int>(
      std::erase_if(sorted, [&](double one) { return std::abs(one - median) > bound; }));
}

Mode ModeOf(std::vector<double> logs) {
  Mode mode{MeanOf(logs), {}};
  mode.logs = std::move(logs);
  return mode;
}

}  // namespace

Modes ModesOf(std::vector<double> logs) {
  Modes found;
  if (logs.empty()) return found;
  std::ranges::sort(logs);
  if (const auto at = SplitOf(logs)) {
    std::vector<double> high(logs.begin() + static_cast<std::ptrdiff_t>(*at), logs.end());
    logs.resize(*at);
    for (auto* side : {&logs, &high}) found.left_out += LeaveOut(*side);
    found.modes = {ModeOf(std::move(logs)), ModeOf(std::move(high))};
    return found;
  }
  // Several values off are no outliers but a mode that is not separated enough.
  auto kept = logs;
  const int left_out = LeaveOut(kept);
  if (5 * static_cast<std::size_t>(left_out) <= logs.size()) {
    found.left_out = left_out;
    logs = std::move(kept);
  }
  found.modes.push_back(ModeOf(std::move(logs)));
  return found;
}

Modes ModesLike(const Modes& like, const std::vector<double>& logs) {
  constexpr double kMoreThanWithin = 2.5, kLeastOfDistance = 0.6, kMostOfDistance = 1.5;
  if (like.modes.size() != 2 || logs.size() < 3) return ModesOf(logs);
  double squares = 0, count = 0;
  for (const auto& mode : like.modes)
    for (const double one : mode.logs) {
      squares += (one - mode.log_seconds) * (one - mode.log_seconds);
      ++count;
    }
  const double within = squares / std::max(count - 2, 1.0);
  const double distance = like.modes[1].log_seconds - like.modes[0].log_seconds;
  auto sorted = logs;
  std::ranges::sort(sorted);
  LeaveOut(sorted);
  const double mean = MeanOf(sorted);
  double all = 0;
  for (const double one : sorted) all += (one - mean) * (one - mean);
  const auto split = BestSplit(sorted, 1);
  if (!split || all / static_cast<double>(sorted.size() - 1) < kMoreThanWithin * within ||
      split->apart < kLeastOfDistance * distance || split->apart > kMostOfDistance * distance)
    return ModesOf(logs);
  Modes found;
  found.left_out = static_cast<int>(logs.size() - sorted.size());
  found.modes.push_back(
      ModeOf({sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(split->at)}));
  found.modes.push_back(
      ModeOf({sorted.begin() + static_cast<std::ptrdiff_t>(split->at), sorted.end()}));
  return found;
}

std::optional<std::pair<Modes, Modes>> ModesTogether(const std::vector<double>& base,
                                                     const std::vector<double>& contender,
                                                     double common) {
  auto sorted = base;
  for (const double one : contender) sorted.push_back(one - common);
  std::ranges::sort(sorted);
  // The largest values may be disturbed ones: up to one of ten is left out if that shows two modes.
  for (std::size_t left_out = 0; 10 * left_out <= base.size() + contender.size(); ++left_out) {
    const auto split = BestSplit(sorted, kLeastOfMode);
    if (!split) return std::nullopt;
    const double least_high = sorted[split->at], most = sorted.back();
    const auto split_run = [&](const std::vector<double>& logs, double shift) {
      std::vector<double> low, high;
      for (const double one : logs)
        if (one - shift <= most) (one - shift < least_high ? low : high).push_back(one);
      Modes modes{.left_out = static_cast<int>(logs.size() - low.size() - high.size())};
      for (auto* side : {&low, &high})
        if (!side->empty()) modes.modes.push_back(ModeOf(std::move(*side)));
      return modes;
    };
    if (split->share <= LargestShareTogether(sorted.size()) && split->apart >= kLeastApartTogether) {
      auto both = std::pair(split_run(base, 0), split_run(contender, common));
      if (both.first.modes.size() == 2 && both.second.modes.size() == 2) return both;
    }
    sorted.pop_back();
  }
  return std::nullopt;
}

MatchedModes MatchModes(const Modes& base, const Modes& contender, double common,
                        double deviation) {
  MatchedModes matched;
  matched.by_mode = base.modes.size() > 1 || contender.modes.size() > 1;
  double sum = 0, weights = 0;
  std::vector<std::pair<double, double>> ratios;  // and their weights
  std::vector<const Mode*> used;
  for (const auto& mode : contender.modes) {
    const auto nearest = std::ranges::min_element(base.modes, {}, [&](const Mode& one) {
      return std::abs(mode.log_seconds - one.log_seconds - common);
    });
    const auto here = static_cast<double>(mode.logs.size()),
               there = static_cast<double>(nearest->logs.size());
    const double weight = here * there / (here + there);
    ratios.emplace_back(mode.log_seconds - nearest->log_seconds, weight);
    sum += weight * ratios.back().first;
    weights += weight;
    matched.contender_count += here;
    if (std::ranges::find(used, &*nearest) == used.end()) matched.base_count += there;
    used.push_back(&*nearest);
  }
  matched.log_ratio = sum / weights;
  if (ratios.size() < 2) return matched;
  const double error = deviation * std::sqrt(1 / ratios[0].second + 1 / ratios[1].second);
  if (std::abs(ratios[0].first - ratios[1].first) <= 3.5 * error) return matched;
  // The two pairs moved differently: the one with more values counts if the other may be disturbed.
  const auto& main = ratios[0].second >= ratios[1].second ? ratios[0] : ratios[1];
  const auto& other = ratios[0].second >= ratios[1].second ? ratios[1] : ratios[0];
  matched.log_ratio = main.first;
  matched.base_count = matched.contender_count = 2 * main.second;
  matched.ambiguous = other.second >= main.second / 2;
  return matched;
}

}  // namespace dlroof::statistics
