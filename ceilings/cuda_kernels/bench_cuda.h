// GpuBench implemented with CUDA. Part of the CUDA module only.
#pragma once

#include <memory>

#include "ceilings/gpu_ceilings/bench.h"

namespace dlroof::cuda_kernels {

// Opens a device and makes it current for this thread. Throws std::runtime_error with CUDA's text.
std::unique_ptr<gpu_ceilings::GpuBench> OpenCudaBench(int device);

// Returns true if this module has a kernel for the row; false for GEMM rows, which use cublasLt.
bool HasCudaKernel(const gpu_ceilings::GpuRow& row);

// As GpuBench::Overhead, on the current device.
double CudaOverhead(gpu_ceilings::GpuOverhead kind, std::int64_t times, gpu::GpuClock& clock);

}  // namespace dlroof::cuda_kernels
