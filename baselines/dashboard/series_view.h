// A series as the dashboard's scripts take it. Pure.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "baselines/history/history.h"
#include "baselines/statistics/series_profile.h"

namespace dlroof {

struct SeriesView {
  nlohmann::json summary;  // for the index: last time, levels, changes, noise, a small picture
  nlohmann::json points;   // all of them, for the chart
  std::vector<std::size_t> changed_at;  // indices of runs, rising
  bool last_slower = false;             // the last change
};

// `run_of[i]` is the index of the run that points[i] belongs to, rising. `why(i)` says what else
// changed between the points i - 1 and i; it is asked only where the level changed.
SeriesView ViewOf(const Series& series, const std::vector<Point>& points,
                  const std::vector<std::size_t>& run_of,
                  const std::function<std::string(std::size_t before, std::size_t after)>& why);

// Six significant digits: enough for any chart, half of the file.
double Rounded(double value);

}  // namespace dlroof
