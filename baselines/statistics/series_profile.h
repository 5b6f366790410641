// When a series of measurements changed its level, and how it scatters around its levels. Pure.
//
// Seeded binary segmentation (Kovacs, Buehlmann, Li and Munk, Biometrika 110 (2023) 249, section 3)
// of ranks: over intervals of all lengths, the largest standardized Mann-Whitney statistic of what
// lies before and after each moment, ties corrected; of the intervals above the threshold the
// narrowest decides (Baranowski, Chen and Fryzlewicz, J. R. Stat. Soc. B 81 (2019) 649). Ranks make
// the threshold the same for every distribution of the noise, so it could be found by simulation
// once (dlroof_change_points_study), and single outliers move nothing. Noise that remembers its
// past raises the threshold by sqrt((1 + r) / (1 - r)), r being the lag-1 correlation as
// differences of neighbours show it, which steps do not disturb.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace dlroof::statistics {

struct ChangePointSettings {
  // Both sides of a change have at least this many values: as early as a change can be told.
  std::size_t least_segment = 5;
  // [1] smaller changes of the median are not told.
  double min_effect = 0.02;
};

struct ChangePoint {
  std::size_t at = 0;  // the first value of the new level
  double ratio = 1;    // [1] its median over that of the level before
};

// By rising `at`. `values` are positive; fewer than 2 x least_segment hold no change. In 100 series
// in which nothing changes about one gets a change point, whatever its length.
std::vector<ChangePoint> FindChangePoints(const std::vector<double>& values,
                                          const ChangePointSettings& settings = {});

// The largest statistic over all intervals, before any threshold: what the study tabulates.
double LargestScore(const std::vector<double>& values, std::size_t least_segment);
// The value it exceeds in 1 % of series of `count` independent values without a change.
double ScoreThreshold(std::size_t count);
// [1] 0 to 0.8: lag-1 correlation of the noise around the levels that begin at 0 and `at`; 0 below
// 10 values. Two views, each of which noise of few values can raise, and the lower one counts:
// differences of neighbours, which steps do not disturb, and the distances from the levels.
double NoiseMemory(const std::vector<double>& values, const std::vector<std::size_t>& at = {});

struct SeriesLevel {
  std::size_t begin = 0, end = 0;  // values [begin, end)
  double median = 0;               // [s]
};

struct SeriesProfile {
  std::vector<SeriesLevel> levels;   // at least one
  std::vector<ChangePoint> changes;  // between them
  // [1] deviation of one value from its level, logarithm: 1.4826 times the median absolute one,
  // which outliers do not move. Absent: of one value or two nobody can say.
  std::optional<double> deviation;
  double memory = 0;                  // [1] as NoiseMemory
  std::vector<std::size_t> outliers;  // values further from their level than 4 deviations
};

// `values` are positive, oldest first, at least one.
SeriesProfile ProfileOf(const std::vector<double>& values,
                        const ChangePointSettings& settings = {});

}  // namespace dlroof::statistics
