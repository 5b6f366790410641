// The ceilings of a cluster's typical node.
#pragma once

#include <vector>

#include "baselines/cluster/gather.h"

namespace dlroof {

// Replaces a node's rates and launch costs by the medians over these nodes, with the interval of
// the median over nodes (absent below 6). Where at least half of the nodes proved a row it is
// proved, and its median is of theirs. Removes what belongs to one node alone: sustained rates,
// single access mixes, sweeps, measured knees, proofs.
void MergeMachine(const std::vector<const NodeSummary*>& nodes, Machine& machine);

}  // namespace dlroof
