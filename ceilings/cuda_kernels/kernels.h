// Launch functions of the kernels that measure a GPU's ceilings. They return CUDA's launch status.
// ceilings/gpu_ceilings/bench.h describes operands and results. CUDA module only; C++17.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace dlroof::cuda_kernels {

struct GpuLaunch {
  int blocks = 0, threads = 0;
  long long iterations = 0;
  const void* operands = nullptr;
  void* results = nullptr;
  std::size_t set_bytes = 0;  // [byte] all arrays of a memory row together
  cudaStream_t stream = nullptr;
  std::size_t shared_bytes = 0;  // [byte] unused shared memory; see ExclusiveSharedBytes
};

using GpuKernel = cudaError_t(const GpuLaunch&);

// chain_kernels.cu, chain_kernels_80.cu
GpuKernel LaunchDfma, LaunchFfma, LaunchHfma2, LaunchDp4a, LaunchBf16Hfma2;
// mma_kernels*.cu
GpuKernel LaunchMmaFp16K8, LaunchMmaInt8K16, LaunchMmaFp16, LaunchMmaBf16, LaunchMmaTf32;
GpuKernel LaunchMmaInt8, LaunchMmaFp64K4, LaunchMmaFp64K16, LaunchMmaFp8;
// wgmma_kernels_90a.cu
GpuKernel LaunchWgmmaFp16, LaunchWgmmaBf16, LaunchWgmmaTf32, LaunchWgmmaInt8, LaunchWgmmaFp8;
// memory_kernels.cu
GpuKernel LaunchDramLoad, LaunchL2Load, LaunchStore, LaunchCopy, LaunchTriad, LaunchL1Load;
GpuKernel LaunchShared;

// Writes set_bytes (a multiple of 16) random bytes to `results`.
cudaError_t LaunchFill(const GpuLaunch& launch);

}  // namespace dlroof::cuda_kernels
