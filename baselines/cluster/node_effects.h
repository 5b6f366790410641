// Differences between the nodes of a cluster: the spread of benchmarks and roofs over the nodes,
// the search for slow nodes by repeated measurements (outliers.h). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "baselines/cluster/gather.h"
#include "baselines/cluster/outliers.h"

namespace dlroof::cluster {

// Returns the groups of rows (benchmarks or roofs) that are judged together: "all" benchmarks; the
// benchmarks bound by "compute", by "memory" and by overhead ("launch"), if at least three but not
// all are; "ceilings", if there are at least three roofs; and each roof by itself.
std::vector<RowGroup> GroupsOf(const Cluster& cluster);

// The nodes to measure again.
struct Revisit {
  std::vector<Suspect> suspects;
  std::vector<std::size_t> nodes;  // indices of the suspects and of the controls (ControlsFor)
};
// Returns the suspects of the first measurement and their controls; no nodes without suspects.
Revisit RevisitOf(const Cluster& cluster, std::size_t max_controls = kMaxControls);

// Finds those of the nodes with the given `indices` that lose CPU time to other programs, a CPU
// quota or the host. Their benchmarks' times do not show this, because noisy repetitions are left
// out, but such nodes slow down a job. Returns findings in the order of the indices:
// - "quota", limited: the control group allows less CPU time than the CPUs that the process may
//   use, or stopped threads in more than 1 % of its periods;
// - "steal", disturbed: in a measurement of at least 10 s, the host took more than 5 % of the CPUs'
//   time, or with three nodes or more 5 points more than on the median node;
// - "neighbours", disturbed, for a node without "quota" and "steal": the share of noisy repetitions
//   is at least half and at least 40 points above the median node's, or its
//   Interference::wall_over_clean is at least 1.25 times the median node's. Needs three nodes.
std::vector<Finding> InterferenceFindings(const std::vector<ClusterNode>& nodes,
                                          const std::vector<std::size_t>& indices);

// Sets the cluster's findings: those of JudgeNodes, then the InterferenceFindings. Each entry of
// `visits` has the summaries of one further measurement of the RevisitOf nodes.
void AddFindings(const std::vector<std::vector<NodeSummary>>& visits, Cluster& cluster);

// The spread of a benchmark's time or of a roof over nodes (indices into Cluster::nodes).
struct Spread {
  std::string name;                         // of a benchmark or a roof's row
  double median = 0;                        // [s], [flop/s] or [byte/s]
  double low = 0, high = 0;                 // in the unit of `median`
  std::size_t low_node = 0, high_node = 0;  // in a tie the first node
  std::size_t nodes = 0;                    // [1] nodes with a value
};

// The times of one node relative to the medians over nodes.
struct NodeEffect {
  std::size_t node = 0;
  double ratio = 1;            // [1] median over benchmarks of (its time / median over nodes)
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

// Returns a roof's name without "flops" or "bytes", e.g. "cpu.dram" for "cpu.bytes.dram".
std::string RoofText(const std::string& row);

NodeEffects MakeNodeEffects(const Cluster& cluster);

}  // namespace dlroof::cluster
