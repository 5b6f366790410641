// The energy of calls by a meter of the whole node (BMC, PDU, wall), whose log is read later.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace dlroof::energy {

// A span of time in which calls of one benchmark followed each other.
struct MeteredWindow {
  double begin_seconds = 0;  // [s] since 1970, UTC
  double end_seconds = 0;    // [s] the same
  double calls = 0;          // [1]

  bool operator==(const MeteredWindow&) const = default;
};

struct MeteredEnergy {
  double joules = 0;  // [J] of one call: the median over nodes
  // [J] 95 %; of one node by the spread of its samples, of six and more by their own; else absent
  std::optional<std::pair<double, double>> ci95;
  double seconds = 0;         // [s] of one call meanwhile, median: joules / seconds is power
  double window_seconds = 0;  // [s] of the shortest window
  double period_seconds = 0;  // [s] between two samples, of the slowest meter
  double samples = 0;         // [1] that count, of the node with the fewest
  double nodes = 0;           // [1]
  std::string from;           // the log: "watts.csv"
  std::string covers;         // "all that a node draws at its meter, idle parts too"

  bool operator==(const MeteredEnergy&) const = default;
};

}  // namespace dlroof::energy
