// What other programs, a quota of CPU time and the host took from a node. The times leave out what
// was interfered with, so that a node may look well and still be the one that holds up a job. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "baselines/cluster/outliers.h"

namespace dlroof::cluster {

// Counts of a node's system from the start of its measurement to the end; what the system does not
// count is not set.
struct NodeLoad {
  std::optional<double> wall_seconds;  // [s]
  std::optional<double> steal_share;   // [1] of all CPUs' time, taken by the host of a virtual CPU
  std::optional<double> quota_cpus;    // [1] CPU time per wall time that the control group may use
  std::optional<double> periods;       // [1] periods of the quota in which a thread ran
  std::optional<double> throttled;     // [1] of these, periods in which the quota stopped threads

  bool operator==(const NodeLoad&) const = default;
};

// What the repetitions of a node's benchmarks tell.
struct Interference {
  std::size_t repetitions = 0, noisy = 0;  // [1] of all benchmarks
  // [1] mean time of all repetitions / the time without interference, the median over benchmarks
  std::optional<double> wall_over_clean;

  // [1] share of noisy repetitions; 0 without repetitions
  double NoisyShare() const;
  bool operator==(const Interference&) const = default;
};

// One node's facts to judge.
struct InterferedNode {
  std::size_t node = 0;
  std::optional<int> cpus;  // [1] that the process may use
  NodeLoad load;
  Interference seen;
};

// Returns findings, in the order of the nodes:
// - "quota", limited: the control group allows less CPU time than the node's CPUs have, or stopped
//   threads in more than 1 % of its periods;
// - "steal", disturbed: the host took 5 % of the CPUs' time more than on the median node (of three
//   or more), in a measurement of at least 10 s;
// - "neighbours", disturbed: at least half of the repetitions were noisy and 40 points more than on
//   the median node, or repetitions took 1.25 times as long beside clean ones as on the median
//   node. Needs three nodes.
std::vector<Finding> InterferenceFindings(const std::vector<InterferedNode>& nodes);

}  // namespace dlroof::cluster
