// Absolute limits for acceptance tests: the least roofs and the most times that a node must reach.
// Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "baselines/cluster/gather.h"

namespace dlroof::cluster {

struct Requirements {
  // [flop/s], [byte/s] by a roof's name as in reports: "cpu.fp32.vector", "cpu.dram"
  std::map<std::string, double> least_roofs;
  std::map<std::string, double> most_times;  // [s] by benchmark
};

// Reads {"roofs": {"cpu.dram": 4e10}, "times": {"LSTM/...": 6e-5}}; at least one limit. Throws
// BadInput with FILE:LINE:COLUMN for anything else.
Requirements ParseRequirements(const std::string& text, const std::string& where);

// A requirement that a node does not meet: its value is worse than the limit, or was not measured.
struct Unmet {
  std::size_t node = 0;
  std::string what;  // the roof or the benchmark
  bool is_time = false;
  double limit = 0;             // [s], [flop/s] or [byte/s]
  std::optional<double> value;  // in the same unit; not set: not measured
};

// Returns the limits that complete and partial nodes miss, by node.
std::vector<Unmet> UnmetOf(const Cluster& cluster, const Requirements& requirements);

// Returns "n3: cpu.dram is 35.1 GB/s, at least 40.0 GB/s are required".
std::string TextOf(const Unmet& unmet, const Cluster& cluster);

}  // namespace dlroof::cluster
