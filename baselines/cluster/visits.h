// From the nodes of a cluster to the times of their visits, and to findings. Pure.
#pragma once

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

}  // namespace dlroof::cluster
