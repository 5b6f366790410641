// Costs of starting empty work on a GPU. Part of the CUDA module only.
#pragma once

#include <cstdint>

#include "ceilings/gpu/bench.h"

namespace dlroof {

// [s] of `times` of it on the current device; see GpuOverhead.
double CudaOverhead(GpuOverhead kind, std::int64_t times, const GpuClock& clock);

}  // namespace dlroof
