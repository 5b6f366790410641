// A kernel's start on the CPU, in place of counters/cuda/launch.cuh.
#pragma once

#include <cuda_runtime_api.h>

namespace dlroof::cuda {

struct Grid {
  int blocks = 0, threads = 0;
  cudaStream_t stream = nullptr;
  std::size_t shared_bytes = 0;
};

template <class... Parameters, class... Arguments>
cudaError_t Launch(void (*kernel)(Parameters...), const Grid& grid, Arguments... arguments) {
  gridDim.x = static_cast<unsigned>(grid.blocks);
  blockDim.x = static_cast<unsigned>(grid.threads);
  for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
    threads_meet = false;
    for (int times = 0; times <= (threads_meet ? 1 : 0); ++times)
      for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) kernel(arguments...);
  }
  return cudaSuccess;
}

}  // namespace dlroof::cuda
