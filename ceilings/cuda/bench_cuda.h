// The GPU of bench.h by CUDA. Part of the CUDA module only.
#pragma once

#include <memory>

#include "ceilings/gpu/bench.h"

namespace dlroof {

// Makes the device the calling thread's current one. Throws std::runtime_error with CUDA's words.
std::unique_ptr<GpuBench> OpenCudaBench(int device);

// Returns true where the table of kernels has the row, which is no GEMM.
bool HasCudaKernel(const GpuRow& row);

// [s] of `times` of it on the current device; see GpuOverhead.
double CudaOverhead(GpuOverhead kind, std::int64_t times, const GpuClock& clock);

}  // namespace dlroof
