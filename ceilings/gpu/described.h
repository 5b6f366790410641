// A GPU as a machine without ceilings.
#pragma once

#include "ceilings/machine/machine.h"
#include "counters/gpu/identity.h"

namespace dlroof {

// device "gpu", name, fingerprint, facts, L2; by_threads is empty. A GPU's ceilings stand under one
// thread, the host's that starts its work.
Machine DescribeGpu(const GpuIdentity& identity);

}  // namespace dlroof
