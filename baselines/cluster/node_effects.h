// Differences between the nodes of a cluster: each benchmark and each roof over the nodes, the
// slowdown of nodes that are measured at once, and the steps from a cluster to visits and findings
// (outliers.h). Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "baselines/cluster/gather.h"
#include "baselines/cluster/outliers.h"

namespace dlroof::cluster {

// Adds the ceilings "link.bytes.send" and "link.bytes.receive" [byte/s] to the first node of each
// host among the measured ranks: the best rate of the host's pairs at the largest size. Does
// nothing with fewer than kLeastLinkRanks ranks, where a slow node slows all.
void AddLinkRates(const MeasuredNetwork& measured, std::vector<NodeSummary>& summaries);

// Returns whether AddLinkRates made the row of RoofsOf.
bool IsLink(const std::string& row);

// Returns the group "all" of all benchmarks; a group for each bound (compute, a memory level,
// "launch") and the group "ceilings" if they have at least three rows; and a group for each roof
// and each direction of a node's link.
std::vector<RowGroup> GroupsOf(const Cluster& cluster);

// The nodes to visit again, and how often.
struct Revisit {
  std::vector<Suspect> suspects;
  std::vector<std::size_t> nodes;  // suspects and controls, each once, by index
  int visits = 0;                  // [1]
};
Revisit RevisitOf(const Cluster& cluster, const OutlierRules& rules);

// Sets the cluster's findings by its further visits.
void AddFindings(const std::vector<std::vector<NodeSummary>>& visits, const OutlierRules& rules,
                 Cluster& cluster);

// One node, measured at once with the others and by itself.
struct OrderEffect {
  std::string node;
  // [1] its time at once with the others over that by itself, the median over benchmarks
  double ratio = 1;
  std::optional<std::pair<double, double>> ci95;  // of the median; from six benchmarks on
  std::size_t benchmarks = 0;                     // [1] with both times
  std::string worst;                              // the benchmark with the largest ratio
  double worst_ratio = 1;                         // [1]
};

// Returns the effects, the largest ratio first. Throws BadInput if no node has a benchmark in both.
std::vector<OrderEffect> OrderEffects(const Cluster& at_once, const Cluster& one_by_one);

// A quantity over nodes. Nodes are indices into the cluster's nodes.
struct Spread {
  std::string name;                         // of a benchmark or a roof's row
  double median = 0;                        // [s], [flop/s] or [byte/s]
  double low = 0, high = 0;                 // in the same unit
  std::size_t low_node = 0, high_node = 0;  // the first of several with the same value
  std::size_t nodes = 0;                    // [1] with a value
};

// One node over all benchmarks.
struct NodeEffect {
  std::size_t node = 0;
  // [1] ratio of its times to the median node's, the median over benchmarks; above 1 is slower
  double ratio = 1;
  std::size_t benchmarks = 0;  // [1] with a time on this node
  std::size_t worst = 0;       // index of the record with the largest ratio
  double worst_ratio = 1;      // [1]
};

struct NodeEffects {
  // [1] by record and node: the node's time over the median over nodes
  std::vector<std::vector<std::optional<double>>> ratios;
  std::vector<Spread> benchmarks;  // by record
  std::vector<Spread> roofs;       // over the first kind's nodes, by row
  std::vector<NodeEffect> nodes;   // with a time, the slowest first
  std::vector<OrderEffect> order;  // by OrderEffects, if the user gives a second file
};

// Returns a roof's row without the word that its unit implies: "cpu.fp32.vector", "cpu.dram".
std::string RoofText(const std::string& row);

NodeEffects MakeNodeEffects(const Cluster& cluster);

}  // namespace dlroof::cluster
