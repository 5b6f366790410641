// From the nodes of a cluster to the times of their visits, and to findings. Pure.
//
// Differences between nodes: each benchmark and each roof over the nodes of a cluster, and the
// times that nodes take from each other where they are measured at once. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "baselines/cluster/gather.h"
#include "baselines/cluster/outliers.h"

namespace dlroof::cluster {

// Adds to each host's first node of the measured ranks the ceilings "link.bytes.send" and
// "link.bytes.receive" [byte/s]: the best of the host's pairs at the largest size. Does nothing
// with fewer than kLeastLinkRanks ranks, where a slow node slows all.
void AddLinkRates(const MeasuredNetwork& measured, std::vector<NodeSummary>& summaries);

// Returns whether AddLinkRates made the row of RoofsOf.
bool IsLink(const std::string& row);

// Returns "all" benchmarks, then those that compute, a memory level or the cost of starting them
// ("launch") bounds, then the "ceilings", where they are at least three; then each roof and each
// direction of a node's link by itself.
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

// One node, measured beside the others and alone.
struct OrderEffect {
  std::string node;
  // [1] its time beside the others over that alone, the median over benchmarks
  double ratio = 1;
  std::optional<std::pair<double, double>> ci95;  // of the median; absent below six benchmarks
  std::size_t benchmarks = 0;                     // [1] with both times
  std::string worst;                              // the benchmark with the largest ratio
  double worst_ratio = 1;                         // [1]
};

// By the largest ratio. Throws BadInput where no node has a benchmark in both.
std::vector<OrderEffect> OrderEffects(const Cluster& together, const Cluster& alone);

// A quantity over nodes. Indices are into the cluster's nodes.
struct Spread {
  std::string name;                         // of a benchmark or a roof's row
  double median = 0;                        // [s], [flop/s] or [byte/s]
  double low = 0, high = 0;                 // [the same]
  std::size_t low_node = 0, high_node = 0;  // the first of equals
  std::size_t nodes = 0;                    // [1] that have it
};

// One node over all benchmarks.
struct NodeEffect {
  std::size_t node = 0;
  // [1] ratio of its times to the median node's, the median over benchmarks; above 1 is slower
  double ratio = 1;
  std::size_t benchmarks = 0;  // [1] that it has times of
  std::size_t worst = 0;       // index of the record with the largest ratio
  double worst_ratio = 1;      // [1]
};

struct NodeEffects {
  // [1] by record and node: its time over the median over nodes; absent where it has none
  std::vector<std::vector<std::optional<double>>> ratios;
  std::vector<Spread> benchmarks;  // by record
  std::vector<Spread> roofs;       // of the first kind's nodes, by row
  std::vector<NodeEffect> nodes;   // that have a time, the slowest first
  // By OrderEffects, of another file that the user gives; empty: none
  std::vector<OrderEffect> order;
};

// Returns a roof's row without what its unit says: "cpu.fp32.vector", "cpu.dram".
std::string RoofText(const std::string& row);

NodeEffects MakeNodeEffects(const Cluster& cluster);

}  // namespace dlroof::cluster
