// Differences between the nodes of a cluster: each benchmark and each roof over the nodes, and the
// search for slow nodes by repeated measurements (outliers.h). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "baselines/cluster/gather.h"
#include "baselines/cluster/outliers.h"

namespace dlroof::cluster {

// Returns the groups of rows to judge: "all" benchmarks; the benchmarks of each bound (compute, a
// memory level, "launch") and "ceilings", if at least three rows; and each roof by itself.
std::vector<RowGroup> GroupsOf(const Cluster& cluster);

// The nodes to measure again.
struct Revisit {
  std::vector<Suspect> suspects;
  std::vector<std::size_t> nodes;  // indices of suspects and ordinary nodes, each once
};
Revisit RevisitOf(const Cluster& cluster, const OutlierRules& rules);

// Sets the cluster's findings from `visits`: for each re-measurement the summaries of its nodes.
void AddFindings(const std::vector<std::vector<NodeSummary>>& visits, const OutlierRules& rules,
                 Cluster& cluster);

// The spread of a benchmark's time or of a roof over nodes (indices into Cluster::nodes).
struct Spread {
  std::string name;                         // of a benchmark or a roof's row
  double median = 0;                        // [s], [flop/s] or [byte/s]
  double low = 0, high = 0;                 // in the same unit
  std::size_t low_node = 0, high_node = 0;  // the first of several with this value
  std::size_t nodes = 0;                    // [1] nodes with a value
};

// The effect on one node over its benchmarks.
struct NodeEffect {
  std::size_t node = 0;
  double ratio = 1;            // [1] its time / that of the median node, the median over benchmarks
  std::size_t benchmarks = 0;  // [1]
  std::string worst;           // the benchmark with the largest ratio
  double worst_ratio = 1;      // [1]
};

struct NodeEffects {
  // [1] by record and node: the node's time divided by the median over nodes
  std::vector<std::vector<std::optional<double>>> ratios;
  std::vector<Spread> benchmarks;  // by record
  std::vector<Spread> roofs;       // over the nodes of the most common kind, by row
  std::vector<NodeEffect> nodes;   // nodes with a time over the median node's, the slowest first
};

// Returns a roof's name without "flops" or "bytes": "cpu.fp32.vector", "cpu.dram".
std::string RoofText(const std::string& row);

NodeEffects MakeNodeEffects(const Cluster& cluster);

}  // namespace dlroof::cluster
