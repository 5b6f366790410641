// Groups nodes whose results may share a median: equal machines, software and settings. Pure.
#pragma once

#include <vector>

#include "baselines/cluster/gather.h"

namespace dlroof::cluster {

// Returns the groups of the nodes with a time (`counts`), the largest first; indices are those of
// `summaries`. With `mix_unlike` only the machines' fingerprints count. Sizes of memory within 3 %
// of each other are equal. Nodes that used another algorithm for a benchmark than most nodes of
// their group are groups of their own, with a trait "algorithms".
std::vector<ClusterKind> KindsOf(const std::vector<NodeSummary>& summaries,
                                 const std::vector<bool>& counts, bool mix_unlike);

}  // namespace dlroof::cluster
