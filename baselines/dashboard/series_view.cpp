#include "baselines/dashboard/series_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "counters/base/order_statistics.h"

namespace dlroof {
namespace {

using nlohmann::json;

constexpr std::size_t kMostSparkPoints = 60;
constexpr int kHistogramBars = 21, kMiddleBar = kHistogramBars / 2;
constexpr double kHistogramReach = 5;  // [deviations] to both sides

json NumberOrNull(const std::optional<double>& value) {
  return value ? json(Rounded(*value)) : json(nullptr);
}

// Medians of equal, consecutive groups.
json Spark(const std::vector<double>& values) {
  json spark = json::array();
  const std::size_t groups = std::min(values.size(), kMostSparkPoints);
  const auto start = [&](std::size_t group) {
    return values.begin() + static_cast<std::ptrdiff_t>(group * values.size() / groups);
  };
  for (std::size_t i = 0; i < groups; ++i)
    spark.push_back(Rounded(Median({start(i), start(i + 1)})));
  return spark;
}

// Distances from the level; the bars at both ends hold what lies beyond.
json Histogram(const std::vector<double>& values, const SeriesProfile& profile, double bar) {
  std::vector<int> bars(kHistogramBars, 0);
  for (const auto& level : profile.levels)
    for (std::size_t i = level.begin; i < level.end; ++i) {
      const double distance = bar > 0 ? std::log(values[i] / level.median) / bar : 0;
      const double at = std::clamp(std::round(distance) + kMiddleBar, 0.0,
                                   static_cast<double>(kHistogramBars - 1));
      ++bars[static_cast<std::size_t>(at)];
    }
  return bars;
}

// The points that have a time, by their indices.
struct Timed {
  std::vector<std::size_t> point;
  std::vector<double> seconds;
};

Timed TimedOf(const std::vector<Point>& points) {
  Timed timed;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].median) {
      timed.point.push_back(i);
      timed.seconds.push_back(*points[i].median);
    }
  return timed;
}

json PointsJson(const std::vector<Point>& points, const std::vector<std::size_t>& run_of,
                const Timed& timed, const SeriesProfile& profile) {
  json all = {{"outliers", profile.outliers}};
  if (profile.deviation) {
    const double bar = 2 * kHistogramReach * *profile.deviation / kHistogramBars;
    all["bar"] = Rounded(bar);
    all["histogram"] = Histogram(timed.seconds, profile, bar);
  }
  for (const char* key : {"run", "median", "low", "high", "clean", "of"}) all[key] = json::array();
  for (const std::size_t i : timed.point) {
    const auto& ci95 = points[i].ci95;
    all["run"].push_back(run_of[i]);
    all["median"].push_back(Rounded(*points[i].median));
    all["low"].push_back(NumberOrNull(ci95 ? std::optional(ci95->first) : std::nullopt));
    all["high"].push_back(NumberOrNull(ci95 ? std::optional(ci95->second) : std::nullopt));
    all["clean"].push_back(points[i].clean);
    all["of"].push_back(points[i].repetitions);
  }
  return all;
}

}  // namespace

double Rounded(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

SeriesView ViewOf(const Series& series, const std::vector<Point>& points,
                  const std::vector<std::size_t>& run_of,
                  const std::function<std::string(std::size_t, std::size_t)>& why) {
  SeriesView view;
  view.summary = {{"id", series.id},        {"name", series.name},     {"points", points.size()},
                  {"spark", json::array()}, {"levels", json::array()}, {"changes", json::array()}};
  if (series.threads > 0) view.summary["threads"] = series.threads;
  if (!series.cache.empty()) view.summary["cache"] = series.cache;
  const Timed timed = TimedOf(points);
  if (timed.seconds.empty()) return view;
  const SeriesProfile profile = ProfileOf(timed.seconds);
  const auto run_at = [&](std::size_t value) { return run_of[timed.point[value]]; };
  view.summary["spark"] = Spark(timed.seconds);
  if (points.back().median) view.summary["last"] = Rounded(*points.back().median);
  if (profile.deviation) view.summary["deviation"] = Rounded(*profile.deviation);
  view.summary["memory"] = Rounded(profile.memory);
  for (const auto& level : profile.levels)
    view.summary["levels"].push_back(
        {run_at(level.begin), run_at(level.end - 1), Rounded(level.median)});
  for (const auto& change : profile.changes) {
    view.summary["changes"].push_back(
        {{"run", run_at(change.at)},
         {"ratio", Rounded(change.ratio)},
         {"why", why(timed.point[change.at - 1], timed.point[change.at])}});
    view.changed_at.push_back(run_at(change.at));
    view.last_slower = change.ratio > 1;
  }
  view.points = PointsJson(points, run_of, timed, profile);
  return view;
}

}  // namespace dlroof
