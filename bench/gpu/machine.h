// A GPU's ceilings: kept and found again as a CPU's are.
#pragma once

#include <optional>
#include <ostream>

#include "bench/gpu/loader.h"
#include "ceilings/cache/machine_cache.h"

namespace dlroof::gpu_loader {

// The ceilings of the device that `access` found, as CachedOrMeasured gets them: from a file, the
// cache, or measured now. Absent, with a sentence in `log`, in a build whose module measures none.
// Throws std::invalid_argument when no device can be used.
std::optional<machine::Machine> CachedOrMeasuredGpu(const GpuAccess& access, const machine_file::MachineOptions& options,
                                           std::ostream& log);

}  // namespace dlroof::gpu_loader
