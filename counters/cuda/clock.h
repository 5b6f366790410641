// The GpuClock of CUDA events and NVML. Part of the CUDA module only.
#pragma once

#include "counters/gpu/clock.h"

namespace dlroof::cuda {

// Makes the device the calling thread's current device; only this thread may use the clock.
// Allocates device memory of three times the L2's size. Throws std::runtime_error with CUDA's
// message.
gpu::GpuClock OpenCudaClock(int device);

}  // namespace dlroof::cuda
