// GpuBench by CUDA. Part of the CUDA module only.
#pragma once

#include <memory>

#include "ceilings/gpu_ceilings/bench.h"

namespace dlroof::cuda_kernels {

// Makes the device current for the calling thread. Throws std::runtime_error with CUDA's message.
std::unique_ptr<gpu_ceilings::GpuBench> OpenCudaBench(int device);

// Returns whether there is a kernel for the row. GEMM rows have none.
bool HasCudaKernel(const gpu_kernels::GpuRow& row);

// Returns the total time [s] of `times` operations on the current device.
double CudaOverhead(gpu_ceilings::GpuOverhead kind, std::int64_t times, const gpu::GpuClock& clock);

}  // namespace dlroof::cuda_kernels
