// Differences between the nodes of a cluster: the spread of each benchmark and roof over the nodes,
// the search for slow nodes by repeated measurements (outliers.h), and limits that nodes must meet.
// Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "baselines/cluster/gather.h"
#include "baselines/cluster/outliers.h"

namespace dlroof::cluster {

// Returns the groups of rows to judge. Groups of at least three rows: the benchmarks bound by
// "compute", by "memory" and by overhead ("launch"), unless these are all benchmarks, and
// "ceilings", all roofs. Groups of any size: "all" benchmarks, and each roof by itself.
std::vector<RowGroup> GroupsOf(const Cluster& cluster);

// The nodes to measure again.
struct Revisit {
  std::vector<Suspect> suspects;
  std::vector<std::size_t> nodes;  // indices of suspects and of ordinary nodes to compare with
};
// Returns the suspects of the first measurement, and no nodes if there is no suspect.
Revisit RevisitOf(const Cluster& cluster, const OutlierRules& rules);

// Finds nodes among nodes[i], for each i of `indices`, that lose CPU time to other programs, a CPU
// quota or the host. Their benchmarks' times do not show it, because noisy repetitions are not
// used, but such nodes slow down a job. Returns findings, in the order of the indices:
// - "quota", limited: the control group allows less CPU time than the CPUs that the process may
//   use, or stopped threads in more than 1 % of its periods;
// - "steal", disturbed: in a measurement of at least 10 s, the host took more than 5 % of the CPUs'
//   time, or with three nodes or more 5 points more than on the median node;
// - "neighbours", disturbed, if neither of these: the share of noisy repetitions is at least half
//   and at least 40 points above the median node's, or Interference::wall_over_clean is at least
//   1.25 times the median node's. Not found for fewer than three nodes.
std::vector<Finding> InterferenceFindings(const std::vector<ClusterNode>& nodes,
                                          const std::vector<std::size_t>& indices);

// Sets the cluster's findings: those of JudgeNodes, then the InterferenceFindings. `visits` has an
// entry for each further measurement of suspect nodes: the summaries of the nodes measured.
void AddFindings(const std::vector<std::vector<NodeSummary>>& visits, const OutlierRules& rules,
                 Cluster& cluster);

// The spread of a benchmark's time or of a roof over nodes (indices into Cluster::nodes).
struct Spread {
  std::string name;                         // of a benchmark or a roof's row
  double median = 0;                        // [s], [flop/s] or [byte/s]
  double low = 0, high = 0;                 // in the unit of `median`
  std::size_t low_node = 0, high_node = 0;  // the first of several with this value
  std::size_t nodes = 0;                    // [1] nodes with a value
};

// The times of one node relative to the medians over nodes.
struct NodeEffect {
  std::size_t node = 0;
  double ratio = 1;            // [1] its time / median over nodes; median over benchmarks
  std::size_t benchmarks = 0;  // [1] benchmarks with a time on this node
  std::string worst;           // the benchmark with the largest ratio
  double worst_ratio = 1;      // [1]
};

struct NodeEffects {
  // [1] by record and node: the node's time divided by the median over nodes
  std::vector<std::vector<std::optional<double>>> ratios;
  std::vector<Spread> benchmarks;  // by record
  std::vector<Spread> roofs;       // over the nodes of the most common kind, by row
  std::vector<NodeEffect> nodes;   // the slowest first
};

// Returns a roof's name without "flops" or "bytes": "cpu.fp32.vector", "cpu.dram".
std::string RoofText(const std::string& row);

NodeEffects MakeNodeEffects(const Cluster& cluster);

// Absolute limits for acceptance tests: minimum roofs and maximum times of a node.
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
  std::string what;  // name of the roof or benchmark
  bool is_time = false;
  double limit = 0;             // [s], [flop/s] or [byte/s]
  std::optional<double> value;  // in the unit of `limit`; not set: not measured
};

// Returns the limits that complete and partial nodes do not meet, ordered by node.
std::vector<Unmet> UnmetOf(const Cluster& cluster, const Requirements& requirements);

// Returns "n3: cpu.dram is 35.1 GB/s, at least 40.0 GB/s are required".
std::string TextOf(const Unmet& unmet, const Cluster& cluster);

}  // namespace dlroof::cluster
