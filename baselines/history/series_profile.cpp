#include "baselines/history/series_profile.h"

#include <algorithm>
#include <cmath>

#include "baselines/statistics/shift.h"
#include "counters/base/numbers.h"

namespace dlroof::history {
namespace {

using statistics::RobustDeviation, statistics::Square, statistics::StudentTwoSided,
    statistics::Verdict;

constexpr double kFalse = 0.005;     // [1] share of unchanged series that show a change (or drift)
constexpr double kMinNoise = 0.001;  // [1] minimum standard deviation between runs
constexpr double kAssumed = 0.021;   // [1] for few values: BetweenOf (judge.cpp) / sqrt(2)
constexpr double kMinDegrees = 4, kManyDegrees = 1e6;
constexpr double kOutlier = 4;      // [standard deviations]: 1 in 16,000 values of normal noise
constexpr double kMaxMemory = 0.8;  // [1] upper limit of the autocorrelation
constexpr double kLikelihood = 3;   // [1] log likelihood ratio of a change's positions
constexpr std::size_t kMinWithNoise = 3;  // two values have equal distances from their median
constexpr std::size_t kMinForDrift = 10, kMinForMemory = 20;  // [values]

// Estimates the standard deviation from differences of successive values: changes hardly affect it.
double DeviationOfDifferences(const std::vector<double>& logs) {
  std::vector<double> differences;
  for (std::size_t i = 1; i < logs.size(); ++i) differences.push_back(logs[i] - logs[i - 1]);
  if (differences.size() < kMinWithNoise) return kAssumed;
  return std::max(RobustDeviation(std::move(differences), 0) / std::sqrt(2), kMinNoise);
}

double MedianOf(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  return Median({values.begin() + static_cast<std::ptrdiff_t>(begin),
                 values.begin() + static_cast<std::ptrdiff_t>(end)});
}

// Returns the indices of values far from the two values before and the two after.
std::vector<std::size_t> OutliersOf(const std::vector<double>& logs, double deviation) {
  std::vector<std::size_t> outliers;
  for (std::size_t i = 0; i + 1 < logs.size() && logs.size() > kMinWithNoise; ++i) {
    const double after = MedianOf(logs, i + 1, std::min(i + 3, logs.size()));
    const double before = i == 0 ? after : MedianOf(logs, i - std::min<std::size_t>(i, 2), i);
    const double up = logs[i] - before, down = logs[i] - after;
    if (up * down > 0 && std::min(std::abs(up), std::abs(down)) > kOutlier * deviation &&
        std::abs(before - after) < std::abs(up) / 2)
      outliers.push_back(i);
  }
  return outliers;
}

class Levels {
 public:
  Levels(const std::vector<double>& values, std::optional<Verdict> newest)
      : values_(values), newest_(newest) {
    for (const double value : values) {
      sums_.push_back(sums_.back() + value);
      squares_.push_back(squares_.back() + value * value);
    }
  }

  // Cuts [begin, end) in two where this lowers the sum of squares most, if by more than `penalty`;
  // then cuts both parts in the same way. KeepSure removes the cuts that may be chance.
  void Cut(std::size_t begin, std::size_t end, double penalty) {
    if (end - begin < 2) return;
    const std::size_t at = Best(begin, end);
    if (Squares(begin, end) - SplitSquares(begin, at, end) <= penalty) return;
    Cut(begin, at, penalty);
    cuts_.push_back(at);
    Cut(at, end, penalty);
  }

  // Removes the least significant change until all are significant and above kMinChange.
  void KeepSure() {
    while (!cuts_.empty()) {
      std::size_t weakest = 0;
      double most = 0;
      for (std::size_t i = 0; i < cuts_.size(); ++i) {
        cuts_[i] = Best(Begin(i), End(i + 1));
        if (const double chance = Chance(i); chance > most) {
          most = chance;
          weakest = i;
        }
      }
      if (most <= kFalse) return;
      cuts_.erase(cuts_.begin() + static_cast<std::ptrdiff_t>(weakest));
    }
  }

  // Makes the last value a level of its own if the verdict on its run is slower or faster, and the
  // value is (by more than kMinChange) slower or faster than the level.
  void CutNewest() {
    const std::size_t begin = Begin(cuts_.size()), last = values_.size() - 1;
    if (begin == last) return;
    const double change = values_[last] - Mean(begin, last);
    if (newest_ == Verdict::kSlower
            ? change > std::log1p(kMinChange)
            : newest_ == Verdict::kFaster && change < -std::log1p(kMinChange))
      cuts_.push_back(last);
  }

  // Returns the slope per value of a fitted line if it is significant and fits better than levels.
  std::optional<double> Slope() const {
    const auto count = static_cast<double>(values_.size());
    if (values_.size() < kMinForDrift) return std::nullopt;
    const auto x = [&](std::size_t i) { return static_cast<double>(i) - (count - 1) / 2; };
    double product = 0, square = 0, squares = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      product += x(i) * values_[i];
      square += Square(x(i));
    }
    const double slope = product / square, mean = sums_.back() / count;
    std::vector<double> residuals;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      residuals.push_back(values_[i] - mean - slope * x(i));
      squares += Square(residuals.back());
    }
    if (!cuts_.empty() && squares >= SquaresOfLevels()) return std::nullopt;
    const auto [variance, degrees] = Noise(residuals, squares, count - 2);
    const double chance = StudentTwoSided(slope / std::sqrt(variance / square), degrees);
    const bool small = std::abs(slope) * (count - 1) < std::log1p(kMinChange);
    return small || chance > kFalse ? std::nullopt : std::optional(slope);
  }

  // Removes changes that the CPU time does not show. `waits`: wall time / CPU time of each value.
  void KeepInCpuTime(const std::vector<double>& waits) {
    for (std::size_t i = cuts_.size(); i-- > 0;)
      if (!IsInCpuTime(Mean(cuts_[i], End(i + 1)) - Mean(Begin(i), cuts_[i]), Begin(i), cuts_[i],
                       End(i + 1), waits))
        cuts_.erase(cuts_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  // Returns whether the CPU time, too, shows the change of log time from [begin, at) to [at, end).
  static bool IsInCpuTime(double change, std::size_t begin, std::size_t at, std::size_t end,
                          const std::vector<double>& waits) {
    if (waits.empty()) return true;
    const double before = MedianOf(waits, begin, at), after = MedianOf(waits, at, end);
    return std::max(before, after) < statistics::kMinWait ||
           1 - std::log(after / before) / change > statistics::kMinInOther;
  }

  // Returns the first and last position that are at most e^kLikelihood less likely for change i.
  std::pair<std::size_t, std::size_t> RangeOf(std::size_t i) const {
    const std::size_t begin = Begin(i), end = End(i + 1);
    const double allowed = SplitSquares(begin, cuts_[i], end) + 2 * kLikelihood * Noise().variance;
    std::size_t earliest = cuts_[i], latest = cuts_[i];
    while (earliest > begin + 1 && SplitSquares(begin, earliest - 1, end) <= allowed) --earliest;
    while (latest + 1 < end && SplitSquares(begin, latest + 1, end) <= allowed) ++latest;
    return {earliest, latest};
  }

  const std::vector<std::size_t>& cuts() const { return cuts_; }

 private:
  std::size_t Begin(std::size_t level) const { return level == 0 ? 0 : cuts_[level - 1]; }
  std::size_t End(std::size_t level) const {
    return level == cuts_.size() ? values_.size() : cuts_[level];
  }
  double Mean(std::size_t begin, std::size_t end) const {
    return (sums_[end] - sums_[begin]) / static_cast<double>(end - begin);
  }
  double Squares(std::size_t begin, std::size_t end) const {
    const double sum = sums_[end] - sums_[begin];
    return std::max(squares_[end] - squares_[begin] - sum * sum / static_cast<double>(end - begin),
                    0.0);
  }
  double SplitSquares(std::size_t begin, std::size_t at, std::size_t end) const {
    return Squares(begin, at) + Squares(at, end);
  }
  double SquaresOfLevels() const {
    double squares = 0;
    for (std::size_t level = 0; level <= cuts_.size(); ++level)
      squares += Squares(Begin(level), End(level));
    return squares;
  }

  std::size_t Best(std::size_t begin, std::size_t end) const {
    std::size_t best = begin + 1;
    for (std::size_t at = begin + 1; at < end; ++at)
      if (SplitSquares(begin, at, end) < SplitSquares(begin, best, end)) best = at;
    return best;
  }

  // Returns the variance of one value, raised for autocorrelation, and its degrees of freedom.
  static statistics::Spread Noise(const std::vector<double>& residuals, double squares,
                                  double degrees) {
    double products = 0;
    for (std::size_t i = 1; i < residuals.size(); ++i) products += residuals[i] * residuals[i - 1];
    const double memory = residuals.size() >= kMinForMemory && squares > 0
                              ? std::clamp(products / squares, 0.0, kMaxMemory)
                              : 0;
    const double longer = (1 + memory) / (1 - memory);
    const double own = squares / std::max(degrees, 1.0);
    if (degrees < kMinDegrees) return {std::max(own, Square(kAssumed)), kManyDegrees};
    return {std::max(own, Square(kMinNoise)) * longer, std::max(degrees / longer, 1.0)};
  }
  statistics::Spread Noise() const {
    std::vector<double> residuals;
    for (std::size_t level = 0; level <= cuts_.size(); ++level)
      for (std::size_t i = Begin(level); i < End(level); ++i)
        residuals.push_back(values_[i] - Mean(Begin(level), End(level)));
    return Noise(residuals, SquaresOfLevels(),
                 static_cast<double>(values_.size()) - static_cast<double>(cuts_.size()) - 1);
  }

  // Returns the probability that a series without this change shows such a change. Returns 1 if the
  // change is below kMinChange, or is of the newest run, whose verdict is no change.
  double Chance(std::size_t i) const {
    const std::size_t begin = Begin(i), at = cuts_[i], end = End(i + 1);
    const double change = Mean(at, end) - Mean(begin, at);
    if (std::abs(change) < std::log1p(kMinChange)) return 1;
    if (at + 1 == values_.size() && newest_ && !statistics::IsChange(*newest_)) return 1;
    const auto [variance, degrees] = Noise();
    const double error = std::sqrt(
        variance * (1 / static_cast<double>(at - begin) + 1 / static_cast<double>(end - at)));
    return StudentTwoSided(change / error, degrees) * static_cast<double>(values_.size());
  }

  const std::vector<double>& values_;
  std::optional<Verdict> newest_;
  std::vector<double> sums_ = {0}, squares_ = {0};
  std::vector<std::size_t> cuts_;  // indices of the first values of all levels but the first
};

}  // namespace

SeriesProfile ProfileOf(const std::vector<double>& values, std::optional<Verdict> newest,
                        const std::vector<double>& waits) {
  SeriesProfile profile;
  const double middle = Median(values);
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value / middle));
  const double deviation = DeviationOfDifferences(logs);
  profile.outliers = OutliersOf(logs, deviation);
  std::vector<double> kept, kept_waits;
  std::vector<std::size_t> index;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (std::ranges::binary_search(profile.outliers, i)) continue;
    kept.push_back(logs[i]);
    if (!waits.empty()) kept_waits.push_back(waits[i]);
    index.push_back(i);
  }
  Levels levels(kept, newest);
  const double penalty = 3 * std::log(static_cast<double>(kept.size()) + 1) * Square(deviation);
  levels.Cut(0, kept.size(), penalty);
  levels.KeepSure();
  levels.CutNewest();
  levels.KeepInCpuTime(kept_waits);
  const std::size_t half = kept.size() / 2;
  if (const auto slope = levels.Slope();
      slope &&
      levels.IsInCpuTime(*slope * static_cast<double>(half), 0, half, kept.size(), kept_waits))
    profile.drift = std::exp(*slope * (static_cast<double>(kept.size()) - 1));
  const std::size_t changes = profile.drift ? 0 : levels.cuts().size();
  std::vector<double> logs_of_levels;
  for (std::size_t i = 0; i <= changes; ++i) {
    SeriesLevel level{.begin = i == 0 ? 0 : profile.levels.back().end, .end = values.size()};
    if (i < changes) level.end = index[levels.cuts()[i]];
    level.median = MedianOf(values, level.begin, level.end);
    for (std::size_t run = level.begin; run < level.end; ++run)
      logs_of_levels.push_back(std::log(values[run] / level.median));
    if (i > 0) {
      const auto [earliest, latest] = levels.RangeOf(i - 1);
      profile.changes.push_back({level.begin, index[earliest], index[latest],
                                 level.median / profile.levels.back().median,
                                 level.end - level.begin});
    }
    profile.levels.push_back(level);
  }
  if (values.size() >= kMinWithNoise) profile.deviation = RobustDeviation(logs_of_levels, 0);
  return profile;
}

}  // namespace dlroof::history
