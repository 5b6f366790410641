// Finds changes of level, drifts, outliers and the noise in a series of measurements. Pure.
//
// An outlier is a value far from the values on both sides; the last value is never an outlier. The
// other values are split in two at the likeliest position for normal noise, and so are the parts
// (binary segmentation, Scott and Knott, Biometrics 30 (1974) 507). A change remains if Student's t
// between its two levels, with the noise of all levels, would occur by chance in at most 1 of 200
// series (Bonferroni over the positions). Autocorrelated noise raises the variance by a factor of
// (1 + r) / (1 - r), where r is the lag-1 autocorrelation of the residuals. If a line fits better
// than the levels, the series has a drift.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "baselines/statistics/judge.h"

namespace dlroof::history {

// [1] Smaller relative changes and drifts are not reported.
inline constexpr double kMinChange = 0.02;

struct ChangePoint {
  std::size_t at = 0;                    // most likely index of the new level's first value
  std::size_t earliest = 0, latest = 0;  // range of `at`: indices at most e^3 times less likely
  double ratio = 1;                      // [1] new median / previous level's median
  std::size_t runs = 0;                  // [1] number of values at the new level; 1: unconfirmed
};

struct SeriesLevel {
  std::size_t begin = 0, end = 0;  // indices, half-open [begin, end)
  double median = 0;               // [s]
};

struct SeriesProfile {
  std::vector<SeriesLevel> levels;   // at least one
  std::vector<ChangePoint> changes;  // changes[i] is between levels[i] and levels[i + 1]
  // [1] last / first value of the fitted line, if the series drifts and has no change of level
  std::optional<double> drift;
  // [1] RobustDeviation of log(value / level's median). Not set for fewer than three values.
  std::optional<double> deviation;
  std::vector<std::size_t> outliers;  // indices into the values
};

// Returns the profile of `values` [s]: positive, oldest first, at least one. `newest`: the verdict
// on the newest run, if it was compared with the runs before it. This verdict decides whether the
// newest value is a level of its own, because the comparison of all benchmarks knows the noise
// better than one series. `waits`: wall time / CPU time [1] of each value, or empty. If its median
// in one of a change's two levels is at least kMinWait, the change remains only if the CPU time
// shows it, too.
SeriesProfile ProfileOf(const std::vector<double>& values,
                        std::optional<statistics::Verdict> newest = {},
                        const std::vector<double>& waits = {});

}  // namespace dlroof::history
