// Finds when a series of measurements changed its level, and the noise around its levels. Pure.
//
// Seeded binary segmentation (Kovacs, Buehlmann, Li and Munk, Biometrika 110 (2023) 249, section 3)
// of ranks: the statistic of an interval is the largest standardized Mann-Whitney statistic between
// the values before and after a moment, ties corrected; of the intervals above the threshold the
// narrowest decides (Baranowski, Chen and Fryzlewicz, J. R. Stat. Soc. B 81 (2019) 649). With ranks
// the threshold is the same for all distributions of the noise, so that it was simulated once, and
// single outliers have no effect. Autocorrelated noise raises the threshold by
// sqrt((1 + r) / (1 - r)), where r is the lag-1 correlation estimated from differences of
// neighbours, which steps do not bias.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace dlroof::statistics {

struct ChangePointSettings {
  // [1] Least number of values on each side of a change. A new change is found after this many
  // values.
  std::size_t least_segment = 5;
  // [1] Smaller relative changes of the median are not reported.
  double min_effect = 0.02;
};

struct ChangePoint {
  std::size_t at = 0;  // index of the new level's first value
  double ratio = 1;    // [1] its median divided by the previous level's
};

// Returns the changes, sorted by `at`. `values` must be positive; fewer than 2 x least_segment
// values have no change. The false-alarm rate is about 1 in 100 unchanged series of any length.
std::vector<ChangePoint> FindChangePoints(const std::vector<double>& values,
                                          const ChangePointSettings& settings = {});

// Returns the value that the largest test statistic over all intervals exceeds in 1 % of unchanged
// series of `count` values.
double ScoreThreshold(std::size_t count);
// Returns the lag-1 correlation [1] of the noise around the levels that begin at the indices 0 and
// `at`, from 0 to 0.8; 0 for fewer than 10 values. The lower of two estimates, which chance may
// raise: from differences of neighbours, and from distances to the levels.
double NoiseMemory(const std::vector<double>& values, const std::vector<std::size_t>& at = {});

struct SeriesLevel {
  std::size_t begin = 0, end = 0;  // values [begin, end)
  double median = 0;               // [s]
};

struct SeriesProfile {
  std::vector<SeriesLevel> levels;   // at least one
  std::vector<ChangePoint> changes;  // between them
  // [1] standard deviation of log(value / level), estimated as 1.4826 times the median absolute
  // deviation, which outliers do not affect. Not set for fewer than three values.
  std::optional<double> deviation;
  double memory = 0;                  // [1] lag-1 correlation of the noise (NoiseMemory)
  std::vector<std::size_t> outliers;  // indices of values > 4 deviations from their level
};

// Returns the profile of `values`, which are positive, oldest first, and at least one.
SeriesProfile ProfileOf(const std::vector<double>& values,
                        const ChangePointSettings& settings = {});

}  // namespace dlroof::statistics
