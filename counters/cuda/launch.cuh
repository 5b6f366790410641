// Launches a kernel. Part of the CUDA module only; C++17.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace dlroof::cuda {

struct Grid {
  int blocks = 0, threads = 0;
  cudaStream_t stream = nullptr;
  std::size_t shared_bytes = 0;  // [byte] dynamic shared memory
};

// Launches a kernel, with more than 48 KiB of shared memory if needed. Returns the first error.
template <class... Parameters, class... Arguments>
cudaError_t Launch(void (*kernel)(Parameters...), const Grid& grid, Arguments... arguments) {
  if (grid.shared_bytes > 0) {
    const auto status = cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(grid.shared_bytes));
    if (status != cudaSuccess) return status;
  }
  kernel<<<grid.blocks, grid.threads, grid.shared_bytes, grid.stream>>>(arguments...);
  return cudaGetLastError();
}

}  // namespace dlroof::cuda
