// Finds when a series of measurements changed its level, drifted, or had an outlier that returned,
// and the noise around its levels. Pure.
//
// A value far from its neighbours on both sides is an outlier, which a later value shows to have
// returned; the last value never is one. The others are cut into levels by the split of highest
// likelihood (of normal noise; Killick, Fearnhead and Eckley, JASA 107 (2012) 1590), and a change
// stays if Student's t between its two levels, with the noise of all levels, would occur by chance
// in 1 of 200 series (Bonferroni over the places). Noise that remembers raises the variance by
// (1 + r) / (1 - r), where r is the lag-1 correlation around the levels. A line that fits better
// than the levels is a drift.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dlroof::statistics {

// [1] Smaller relative changes and drifts are not reported.
inline constexpr double kMinChange = 0.02;

struct ChangePoint {
  std::size_t at = 0;  // index of the new level's first value, the most likely one
  std::size_t earliest = 0, latest = 0;  // of `at`: those at most e^3 times less likely
  double ratio = 1;                      // [1] its median divided by the previous level's
  std::size_t runs = 0;                  // [1] values of the new level; of one it is unconfirmed
};

struct SeriesLevel {
  std::size_t begin = 0, end = 0;  // values [begin, end)
  double median = 0;               // [s]
};

struct SeriesProfile {
  std::vector<SeriesLevel> levels;   // at least one
  std::vector<ChangePoint> changes;  // between them
  // [1] ratio of the last value of a line to its first one, if the series drifts and has no levels.
  std::optional<double> drift;
  // [1] standard deviation of log(value / level), estimated as 1.4826 times the median absolute
  // deviation, which outliers do not affect. Not set for fewer than three values.
  std::optional<double> deviation;
  std::vector<std::size_t> outliers;  // indices of single values that returned
};

// Returns the profile of `values`, which are positive, oldest first, and at least one.
SeriesProfile ProfileOf(const std::vector<double>& values);

// Returns "unconfirmed, 1 run", or "confirmed by 3 runs".
std::string ConfirmedText(std::size_t runs);

}  // namespace dlroof::statistics
