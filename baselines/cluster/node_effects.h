// Differences between the nodes of a cluster: each benchmark and each roof over the nodes, the
// slowdown of nodes that are measured at the same time, and the search for slow nodes by repeated
// measurements (outliers.h). Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
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
// Then come nodes under a quota and nodes whose CPUs others used (interference.h).
void AddFindings(const std::vector<std::vector<NodeSummary>>& visits, const OutlierRules& rules,
                 Cluster& cluster);

// The slowdown of one node when all nodes measure at the same time.
struct OrderEffect {
  std::string node;
  // [1] its time at the same time as others / its time by itself; median over benchmarks
  double ratio = 1;
  std::optional<std::pair<double, double>> ci95;  // of the median; set from six benchmarks on
  std::size_t benchmarks = 0;                     // [1] benchmarks with both times
  std::string worst;                              // the benchmark with the largest ratio
  double worst_ratio = 1;                         // [1]
};

// Returns the effects, the largest ratio first. Throws BadInput if no node has a benchmark in both.
std::vector<OrderEffect> OrderEffects(const Cluster& at_once, const Cluster& one_by_one);

// The spread of a benchmark's time or of a roof over nodes (indices into Cluster::nodes).
struct Spread {
  std::string name;                         // of a benchmark or a roof's row
  double median = 0;                        // [s], [flop/s] or [byte/s]
  double low = 0, high = 0;                 // in the same unit
  std::size_t low_node = 0, high_node = 0;  // the first of several with this value
  std::size_t nodes = 0;                    // [1] nodes with a value
};

// The slowdown of one node over all benchmarks.
struct NodeEffect {
  std::size_t node = 0;
  // [1] the node's time / the median node's time, the median over benchmarks; above 1 is slower
  double ratio = 1;
  std::size_t benchmarks = 0;  // [1] benchmarks with a time on this node
  std::size_t worst = 0;       // index of the record with the largest ratio
  double worst_ratio = 1;      // [1]
};

struct NodeEffects {
  // [1] by record and node: the node's time divided by the median over nodes
  std::vector<std::vector<std::optional<double>>> ratios;
  std::vector<Spread> benchmarks;  // by record
  std::vector<Spread> roofs;       // over the nodes of the most common kind, by row
  std::vector<NodeEffect> nodes;   // nodes with a time, the slowest first
  std::vector<OrderEffect> order;  // by OrderEffects, if the user specifies a second file
};

// Returns a roof's name without "flops" or "bytes": "cpu.fp32.vector", "cpu.dram".
std::string RoofText(const std::string& row);

NodeEffects MakeNodeEffects(const Cluster& cluster);

}  // namespace dlroof::cluster
