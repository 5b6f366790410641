// A GPU's clock by CUDA events, its health by NVML. Part of the CUDA module only.
#pragma once

#include "counters/gpu/clock.h"

namespace dlroof::cuda {

// Makes the device the calling thread's current one; the clock is used by that thread alone. Takes
// three times the L2 of device memory. Throws std::runtime_error with CUDA's words.
gpu::GpuClock OpenCudaClock(int device);

}  // namespace dlroof::cuda
