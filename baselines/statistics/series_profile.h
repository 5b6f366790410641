// When a series of measurements changed its level, and how it scatters around its levels. Pure.
//
// Seeded binary segmentation (Kovacs, Buehlmann, Li and Munk, Biometrika 110 (2023) 249, section 3)
// of ranks: the statistic of an interval is the largest standardized Mann-Whitney statistic between
// the values before and after a moment, ties corrected; of the intervals above the threshold the
// narrowest decides (Baranowski, Chen and Fryzlewicz, J. R. Stat. Soc. B 81 (2019) 649). With ranks
// the threshold is the same for all distributions of the noise, so that it was simulated once
// (dlroof_change_points_study), and single outliers have no effect. Autocorrelated noise raises the
// threshold by sqrt((1 + r) / (1 - r)), where r is the lag-1 correlation estimated from differences
// of neighbours, which steps do not bias.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace dlroof::statistics {

struct ChangePointSettings {
  // [1] values on each side of a change. It also delays the detection of a new change.
  std::size_t least_segment = 5;
  // [1] Smaller changes of the median are not reported.
  double min_effect = 0.02;
};

struct ChangePoint {
  std::size_t at = 0;  // the first value of the new level
  double ratio = 1;    // [1] its median over that of the level before
};

// Returns the changes by rising `at`. `values` are positive; fewer than 2 x least_segment have no
// change. About one in 100 series without a change gets a change point, for any length.
std::vector<ChangePoint> FindChangePoints(const std::vector<double>& values,
                                          const ChangePointSettings& settings = {});

// Returns the largest statistic over all intervals, without a threshold, for the study's table.
double LargestScore(const std::vector<double>& values, std::size_t least_segment);
// Returns the value that it exceeds in 1 % of series of `count` independent values without a
// change.
double ScoreThreshold(std::size_t count);
// Returns the lag-1 correlation of the noise around the levels that begin at 0 and `at`, 0 to 0.8
// [1]; 0 below 10 values. It is the lower of two estimates, each of which chance can raise for few
// values: by differences of neighbours, which steps do not bias, and by distances from the levels.
double NoiseMemory(const std::vector<double>& values, const std::vector<std::size_t>& at = {});

struct SeriesLevel {
  std::size_t begin = 0, end = 0;  // values [begin, end)
  double median = 0;               // [s]
};

struct SeriesProfile {
  std::vector<SeriesLevel> levels;   // at least one
  std::vector<ChangePoint> changes;  // between them
  // [1] deviation of a value from its level, logarithm: 1.4826 times the median absolute one, which
  // is robust against outliers. Needs three values.
  std::optional<double> deviation;
  double memory = 0;                  // [1] by NoiseMemory
  std::vector<std::size_t> outliers;  // values more than 4 deviations from their level
};

// `values` are positive, oldest first, at least one.
SeriesProfile ProfileOf(const std::vector<double>& values,
                        const ChangePointSettings& settings = {});

}  // namespace dlroof::statistics
