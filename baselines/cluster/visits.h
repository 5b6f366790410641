// From the nodes of a cluster to the times of their visits, and to findings. Pure.
#pragma once

#include <vector>

#include "baselines/cluster/gather.h"
#include "baselines/cluster/outliers.h"

namespace dlroof {

// Returns "all" benchmarks, then those that compute, a memory level or the cost of starting them
// ("launch") bounds, where they are at least three.
std::vector<BenchmarkGroup> GroupsOf(const Cluster& cluster);

// Returns the first visit's times, by record and node.
VisitTimes FirstVisit(const Cluster& cluster);
// Returns a further visit's, of the nodes of these names and of the records that both have.
VisitTimes VisitOf(const Cluster& cluster, const std::vector<NodeSummary>& visit);

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

}  // namespace dlroof
