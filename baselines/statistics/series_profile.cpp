#include "baselines/statistics/series_profile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>

#include "counters/base/numbers.h"

namespace dlroof::statistics {
namespace {

// The rank of each value, from 1; equal values share their mean rank.
struct Ranks {
  std::vector<double> of;
  double ties = 0;  // sum of t^3 - t over groups of t equal values
};

Ranks RankAll(const double* values, std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  Ranks ranks;
  ranks.of.resize(count);
  for (std::size_t begin = 0, end = 0; begin < count; begin = end) {
    while (end < count && values[order[end]] == values[order[begin]]) ++end;
    const auto size = static_cast<double>(end - begin);
    ranks.ties += size * size * size - size;
    for (std::size_t i = begin; i < end; ++i)
      ranks.of[order[i]] = static_cast<double>(begin + end + 1) / 2;
  }
  return ranks;
}

// The most likely position `at` of a change within the values [begin, end), and its test statistic.
struct Split {
  std::size_t begin = 0, end = 0, at = 0;
  double score = 0;
};

Split BestSplit(const std::vector<double>& values, std::size_t begin, std::size_t end,
                std::size_t least) {
  Split best{begin, end, begin, 0};
  const std::size_t count = end - begin;
  if (count < 2 * least) return best;
  const Ranks ranks = RankAll(values.data() + begin, count);
  const auto all = static_cast<double>(count);
  const double spread = (all + 1) - ranks.ties / (all * (all - 1));
  if (spread <= 0) return best;  // all values are equal
  double sum = 0;
  for (std::size_t left = 1; left + least <= count; ++left) {
    sum += ranks.of[left - 1];
    if (left < least) continue;
    const auto n = static_cast<double>(left);
    const double deviation = std::sqrt(n * (all - n) * spread / 12);
    const double score = std::abs(sum - n * (all + 1) / 2) / deviation;
    if (score > best.score) best = {begin, end, begin + left, score};
  }
  return best;
}

// Returns the best split of each seeded interval. The intervals' lengths shrink by the square root
// of 2, and intervals of equal length overlap by about half.
std::vector<Split> SeededSplits(const std::vector<double>& values, std::size_t least) {
  std::vector<Split> splits;
  const auto all = static_cast<double>(values.size());
  for (double share = 1; all * share >= static_cast<double>(2 * least);
       share /= std::numbers::sqrt2) {
    const int count = 2 * static_cast<int>(std::ceil(1 / share)) - 1;
    const double length = all * share;
    const double step = count > 1 ? (all - length) / (count - 1) : 0;
    for (int i = 0; i < count; ++i) {
      const auto begin = static_cast<std::size_t>(std::floor(i * step));
      const auto end =
          std::min(values.size(), static_cast<std::size_t>(std::ceil(i * step + length)));
      splits.push_back(BestSplit(values, begin, end, least));
    }
  }
  return splits;
}

// Finds the change points within [begin, end), sorted: the split of the narrowest interval above
// the threshold, then recursively the change points on both sides of the split.
void Segment(const std::vector<double>& values, const std::vector<Split>& seeded, std::size_t begin,
             std::size_t end, std::size_t least, double threshold,
             std::vector<std::size_t>& found) {
  std::optional<Split> narrowest;
  const auto consider = [&](const Split& split) {
    if (split.score <= threshold) return;
    const auto width = split.end - split.begin;
    const auto known = narrowest ? narrowest->end - narrowest->begin : 0;
    if (!narrowest || width < known || (width == known && split.score > narrowest->score))
      narrowest = split;
  };
  for (const auto& split : seeded)
    if (split.begin >= begin && split.end <= end) consider(split);
  if (!narrowest) consider(BestSplit(values, begin, end, least));
  if (!narrowest) return;
  Segment(values, seeded, begin, narrowest->at, least, threshold, found);
  found.push_back(narrowest->at);
  Segment(values, seeded, narrowest->at, end, least, threshold, found);
}

double MedianOf(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  return Median({values.begin() + static_cast<std::ptrdiff_t>(begin),
                 values.begin() + static_cast<std::ptrdiff_t>(end)});
}

// Moves each change point to the best position between its neighbours, and removes the weakest one
// until all are above the threshold.
void Refine(const std::vector<double>& values, const ChangePointSettings& settings,
            double threshold, std::vector<std::size_t>& at) {
  for (bool again = true; again && !at.empty();) {
    std::size_t weakest = 0;
    double least_score = 0;
    again = false;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const std::size_t begin = i == 0 ? 0 : at[i - 1];
      const std::size_t end = i + 1 == at.size() ? values.size() : at[i + 1];
      const Split split = BestSplit(values, begin, end, settings.least_segment);
      at[i] = split.at;
      const double ratio = MedianOf(values, at[i], end) / MedianOf(values, begin, at[i]);
      const bool small = std::abs(std::log(ratio)) < std::log1p(settings.min_effect);
      const double score = small ? 0 : split.score;
      if (score <= threshold && (!again || score < least_score)) {
        weakest = i;
        least_score = score;
        again = true;
      }
    }
    if (again) at.erase(at.begin() + static_cast<std::ptrdiff_t>(weakest));
  }
}

// Standard deviation divided by median absolute deviation, for normal values.
constexpr double kDeviationOfMad = 1.4826;
constexpr std::size_t kMinForMemory = 10;
constexpr double kMaxMemory = 0.8;

// Returns the correlation of each value with the next one: Spearman's coefficient, converted to
// Pearson's for normal values. Returns -0.5 if all are equal: for differences, no autocorrelation.
double NeighbourCorrelation(const std::vector<double>& values) {
  const std::size_t pairs = values.size() - 1;
  const Ranks first = RankAll(values.data(), pairs);
  const Ranks second = RankAll(values.data() + 1, pairs);
  const double mean = static_cast<double>(pairs + 1) / 2;
  double product = 0, square = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    product += (first.of[i] - mean) * (second.of[i] - mean);
    square += (first.of[i] - mean) * (first.of[i] - mean);
  }
  return square > 0 ? 2 * std::sin(std::numbers::pi / 6 * product / square) : -0.5;
}

// Returns the lag-1 correlation, 0 to kMaxMemory, estimated from differences of neighbours.
double MemoryOfDifferences(const std::vector<double>& values) {
  if (values.size() < kMinForMemory) return 0;
  std::vector<double> differences(values.size());
  std::adjacent_difference(values.begin(), values.end(), differences.begin());
  differences.erase(differences.begin());
  // Neighbouring differences have the correlation -(1 - r) / 2, where r is that of the values.
  return std::clamp(1 + 2 * NeighbourCorrelation(differences), 0.0, kMaxMemory);
}

// [1] Deviations of one value: no noise with memory drifts by so much within a short series. Ranks
// do not tell it: of 10 values before and after they score 3.8 at most.
constexpr double kLargeChange = 8;

// Returns those of the changes that are large beside the noise, whose mean scatters `longer` times
// as much as that of independent values.
std::vector<std::size_t> LargeChanges(const std::vector<double>& values,
                                      const std::vector<std::size_t>& at, double longer) {
  std::vector<double> distances, medians;
  for (std::size_t i = 0; i <= at.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : at[i - 1];
    const std::size_t end = i == at.size() ? values.size() : at[i];
    medians.push_back(MedianOf(values, begin, end));
    for (std::size_t j = begin; j < end; ++j)
      distances.push_back(std::abs(std::log(values[j] / medians.back())));
  }
  const double bound = kLargeChange * longer * kDeviationOfMad * Median(std::move(distances));
  std::vector<std::size_t> large;
  for (std::size_t i = 0; i < at.size(); ++i)
    if (std::abs(std::log(medians[i + 1] / medians[i])) > bound) large.push_back(at[i]);
  return large;
}

// Adds `more` to `at`, but for those that are one of `at`, up to `least` values away.
void Join(const std::vector<std::size_t>& more, std::size_t least, std::vector<std::size_t>& at) {
  const auto known = at;
  for (const auto one : more)
    if (std::ranges::none_of(known, [&](std::size_t other) {
          return std::max(one, other) - std::min(one, other) < least;
        }))
      at.push_back(one);
  std::ranges::sort(at);
}

// 99th percentiles of the largest score of SeededSplits with least_segment 5 over 20,000 simulated
// series of independent values.
constexpr std::array<std::pair<double, double>, 10> kThresholds = {{{10, 2.402},
                                                                    {14, 2.733},
                                                                    {20, 3.099},
                                                                    {30, 3.300},
                                                                    {50, 3.537},
                                                                    {100, 3.818},
                                                                    {200, 4.032},
                                                                    {500, 4.277},
                                                                    {1000, 4.467},
                                                                    {2000, 4.628}}};

// [1] Standard deviations from the level of an outlier: 1 in 16,000 values of normal noise.
constexpr double kOutlier = 4;
// Fewer values have no deviation: two always have equal distances from their median.
constexpr std::size_t kMinWithNoise = 3;

std::vector<SeriesLevel> LevelsOf(const std::vector<double>& values,
                                  const std::vector<ChangePoint>& changes) {
  std::vector<SeriesLevel> levels;
  for (std::size_t i = 0; i <= changes.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : changes[i - 1].at;
    const std::size_t end = i == changes.size() ? values.size() : changes[i].at;
    levels.push_back({begin, end, MedianOf(values, begin, end)});
  }
  return levels;
}

}  // namespace

double ScoreThreshold(std::size_t count) {
  const double at =
      std::log(std::max<double>(static_cast<double>(count), kThresholds.front().first));
  for (std::size_t i = 1; i < kThresholds.size(); ++i) {
    const auto [left, low] = kThresholds[i - 1];
    const auto [right, high] = kThresholds[i];
    // Beyond the table, extrapolates with the slope of its last two rows.
    if (at <= std::log(right) || i + 1 == kThresholds.size())
      return low + (high - low) * (at - std::log(left)) / std::log(right / left);
  }
  return kThresholds.back().second;
}

double NoiseMemory(const std::vector<double>& values, const std::vector<std::size_t>& at) {
  const double of_differences = MemoryOfDifferences(values);
  if (of_differences == 0) return 0;
  std::vector<double> distances;
  for (std::size_t i = 0; i <= at.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : at[i - 1];
    const std::size_t end = i == at.size() ? values.size() : at[i];
    const double level = MedianOf(values, begin, end);
    for (std::size_t j = begin; j < end; ++j) distances.push_back(std::log(values[j] / level));
  }
  return std::clamp(NeighbourCorrelation(distances), 0.0, of_differences);
}

std::vector<ChangePoint> FindChangePoints(const std::vector<double>& values,
                                          const ChangePointSettings& settings) {
  const auto seeded = SeededSplits(values, settings.least_segment);
  const double threshold = ScoreThreshold(values.size());
  const auto changes_above = [&](double bound) {
    std::vector<std::size_t> at;
    Segment(values, seeded, 0, values.size(), settings.least_segment, bound, at);
    Refine(values, settings, bound, at);
    return at;
  };
  auto at = changes_above(threshold);
  if (at.empty()) return {};
  if (const double memory = NoiseMemory(values, at); memory > 0) {
    const double longer = std::sqrt((1 + memory) / (1 - memory));
    const auto large = LargeChanges(values, at, longer);
    at = changes_above(threshold * longer);
    Join(large, settings.least_segment, at);
  }
  std::vector<ChangePoint> points;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : at[i - 1];
    const std::size_t end = i + 1 == at.size() ? values.size() : at[i + 1];
    points.push_back({at[i], MedianOf(values, at[i], end) / MedianOf(values, begin, at[i])});
  }
  return points;
}

SeriesProfile ProfileOf(const std::vector<double>& values, const ChangePointSettings& settings) {
  SeriesProfile profile;
  profile.changes = FindChangePoints(values, settings);
  profile.levels = LevelsOf(values, profile.changes);
  std::vector<double> distances;
  for (const auto& level : profile.levels)
    for (std::size_t i = level.begin; i < level.end; ++i)
      distances.push_back(std::abs(std::log(values[i] / level.median)));
  if (values.size() >= kMinWithNoise) profile.deviation = kDeviationOfMad * Median(distances);
  std::vector<std::size_t> at;
  for (const auto& change : profile.changes) at.push_back(change.at);
  profile.memory = NoiseMemory(values, at);
  for (std::size_t i = 0; i < distances.size(); ++i)
    if (profile.deviation > 0 && distances[i] > kOutlier * *profile.deviation)
      profile.outliers.push_back(i);
  return profile;
}

}  // namespace dlroof::statistics
