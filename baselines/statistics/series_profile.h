// One series over time: its levels, and how it scatters around them. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "baselines/statistics/change_points.h"

namespace dlroof {

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
  double memory = 0;                  // [1] as NoiseMemory (change_points.h)
  std::vector<std::size_t> outliers;  // values further from their level than 4 deviations
};

// `values` are positive, oldest first, at least one.
SeriesProfile ProfileOf(const std::vector<double>& values,
                        const ChangePointSettings& settings = {});

}  // namespace dlroof
