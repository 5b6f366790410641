// The GPU of gpu_bench.h by CUDA. Part of the CUDA module only.
#pragma once

#include <memory>

#include "ceilings/gpu/bench.h"

namespace dlroof {

// Makes the device the calling thread's current one. Throws std::runtime_error with CUDA's words.
std::unique_ptr<GpuBench> OpenCudaBench(int device);

// Whether the row, no GEMM, is in the table of kernels.
bool HasCudaKernel(const GpuRow& row);

}  // namespace dlroof
