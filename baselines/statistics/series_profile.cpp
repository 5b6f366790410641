#include "baselines/statistics/series_profile.h"

#include <cmath>

#include "counters/base/order_statistics.h"

namespace dlroof {
namespace {

// [1] deviations. In normal noise one value in 16,000 is as far away.
constexpr double kOutlier = 4;
// MAD to standard deviation, of normal values.
constexpr double kDeviationOfMad = 1.4826;
// Two values are as far from their median as from each other, whatever the noise.
constexpr std::size_t kLeastWithNoise = 3;

std::vector<SeriesLevel> LevelsOf(const std::vector<double>& values,
                                  const std::vector<ChangePoint>& changes) {
  std::vector<SeriesLevel> levels;
  for (std::size_t i = 0; i <= changes.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : changes[i - 1].at;
    const std::size_t end = i == changes.size() ? values.size() : changes[i].at;
    levels.push_back({begin, end,
                      Median({values.begin() + static_cast<std::ptrdiff_t>(begin),
                              values.begin() + static_cast<std::ptrdiff_t>(end)})});
  }
  return levels;
}

}  // namespace

SeriesProfile ProfileOf(const std::vector<double>& values, const ChangePointSettings& settings) {
  SeriesProfile profile;
  profile.changes = FindChangePoints(values, settings);
  profile.levels = LevelsOf(values, profile.changes);
  std::vector<double> distances;
  for (const auto& level : profile.levels)
    for (std::size_t i = level.begin; i < level.end; ++i)
      distances.push_back(std::abs(std::log(values[i] / level.median)));
  if (values.size() >= kLeastWithNoise) profile.deviation = kDeviationOfMad * Median(distances);
  std::vector<std::size_t> at;
  for (const auto& change : profile.changes) at.push_back(change.at);
  profile.memory = NoiseMemory(values, at);
  for (std::size_t i = 0; i < distances.size(); ++i)
    if (profile.deviation > 0 && distances[i] > kOutlier * *profile.deviation)
      profile.outliers.push_back(i);
  return profile;
}

}  // namespace dlroof
