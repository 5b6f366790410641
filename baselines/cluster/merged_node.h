// The typical node of a cluster: its ceilings, and its energy of a benchmark. Pure.
#pragma once

#include <optional>
#include <vector>

#include "baselines/cluster/gather.h"
#include "counters/energy/energy.h"

namespace dlroof::cluster {

// Replaces a node's rates and launch costs by the medians over these nodes, with the interval of
// the median over nodes (absent below 6). Where at least half of the nodes proved a row it is
// proved, and its median is of theirs. Removes what belongs to one node alone: sustained rates,
// single access mixes, sweeps, measured knees, proofs.
void MergeMachine(const std::vector<const NodeSummary*>& nodes, machine::Machine& machine);

// Medians over nodes; the interval is that of the joules' median, absent below 6 nodes. Absent
// without a node, and where nodes counted other things.
std::optional<energy::Energy> MergedEnergy(const std::vector<energy::Energy>& nodes);

}  // namespace dlroof::cluster
