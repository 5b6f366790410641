// The GPU of bench.h by CUDA. Part of the CUDA module only.
#pragma once

#include <memory>

#include "ceilings/gpu_ceilings/bench.h"

namespace dlroof::cuda_kernels {

// Makes the device the calling thread's current one. Throws std::runtime_error with CUDA's words.
std::unique_ptr<gpu_ceilings::GpuBench> OpenCudaBench(int device);

// Returns true where the table of kernels has the row, which is no GEMM.
bool HasCudaKernel(const gpu_kernels::GpuRow& row);

// [s] of `times` of it on the current device; see GpuOverhead.
double CudaOverhead(gpu_ceilings::GpuOverhead kind, std::int64_t times, const gpu::GpuClock& clock);

}  // namespace dlroof::cuda_kernels
