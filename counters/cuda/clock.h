// Implements gpu::GpuClock with CUDA events and NVML. Part of the CUDA module only.
#pragma once

#include <memory>

#include "counters/gpu/clock.h"

namespace dlroof::cuda {

// Returns the clock of `device`, which becomes the calling thread's current device; only this
// thread may use the clock. Allocates device memory of three times the size of L2. Throws
// std::runtime_error with CUDA's message.
std::unique_ptr<gpu::GpuClock> OpenCudaClock(int device);

}  // namespace dlroof::cuda
