// The energy of one benchmark over nodes. Pure.
#pragma once

#include <optional>
#include <vector>

#include "counters/energy/energy.h"

namespace dlroof {

// Medians over nodes; the interval is that of the joules' median, absent below 6 nodes. Absent
// without a node, and where nodes counted other things.
std::optional<Energy> MergedEnergy(const std::vector<Energy>& nodes);

}  // namespace dlroof
