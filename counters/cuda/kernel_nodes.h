// The kernels of a captured CUDA graph. Part of the CUDA module only.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "counters/base/work.h"
#include "counters/gpu/driver.h"

namespace dlroof::cuda {

// Returns the kernels of all kernel nodes, child graphs included, without times. Launches of the
// same kernel with the same configuration are merged. Nodes that copy or fill memory are left out.
// Throws std::runtime_error with CUDA's message.
std::vector<LaunchedKernel> KernelNodes(cudaGraph_t graph, const gpu::GpuIdentity& gpu);

}  // namespace dlroof::cuda
