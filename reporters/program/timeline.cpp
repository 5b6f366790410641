#include "reporters/program/timeline.h"

#include <algorithm>

namespace dlroof {
namespace {

struct Edge {
  double at = 0;  // [s]
  bool begins = false;
  std::size_t call = 0;
};

}  // namespace

Timeline TimelineOf(const VerboseLog& log) {
  const std::size_t executions = log.executions.size();
  Timeline timeline{.stamped = executions > 0};
  std::vector<double> own(executions + log.creations.size());
  std::vector<Edge> edges;
  edges.reserve(2 * own.size());
  const auto add = [&](std::size_t call, double seconds, const std::optional<double>& start) {
    own[call] = seconds;
    if (!start) return;
    edges.push_back({*start, true, call});
    edges.push_back({*start + seconds, false, call});
  };
  for (std::size_t i = 0; i < executions; ++i) {
    const auto& one = log.executions[i];
    timeline.stamped = timeline.stamped && one.start_seconds.has_value();
    add(i, one.seconds, one.start_seconds);
  }
  for (std::size_t i = 0; i < log.creations.size(); ++i)
    add(executions + i, log.creations[i].seconds, log.creations[i].start_seconds);
  std::ranges::sort(edges, [](const Edge& a, const Edge& b) {
    return a.at != b.at ? a.at < b.at : a.begins && !b.begins;
  });
  // `shared`: integral over the clock of 1 / (calls that run).
  double shared = 0, before = 0;
  std::size_t running = 0;
  std::vector<double> at_begin(own.size());
  for (const auto& edge : edges) {
    if (running > 0) shared += (edge.at - before) / static_cast<double>(running);
    before = edge.at;
    if (edge.begins) {
      at_begin[edge.call] = shared;
      ++running;
    } else if (running > 0) {
      own[edge.call] = std::max(shared - at_begin[edge.call], 0.0);
      --running;
    }
  }
  timeline.executions.assign(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(executions));
  timeline.creations.assign(own.begin() + static_cast<std::ptrdiff_t>(executions), own.end());
  return timeline;
}

}  // namespace dlroof
