// Describes a GPU as a machine without ceilings.
#pragma once

#include "ceilings/machine/machine.h"
#include "counters/gpu/identity.h"

namespace dlroof {

// Returns device "gpu", name, fingerprint, facts and L2. `by_threads` is empty: a GPU's ceilings
// belong to one thread, the host's that starts its work.
Machine DescribeGpu(const GpuIdentity& identity);

}  // namespace dlroof
