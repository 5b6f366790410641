// The kernels of a GPU's ceilings. Part of the CUDA module only; C++17. gpu_known/known.h
// describes their operands and results. Each returns CUDA's status of the launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace dlroof {

struct GpuLaunch {
  int blocks = 0, threads = 0;
  long long iterations = 0;
  const void* operands = nullptr;
  void* results = nullptr;
  std::size_t set_bytes = 0;  // of memory
  cudaStream_t stream = nullptr;
  std::size_t shared_bytes =
      0;  // dynamic shared memory of a block, unread: keeps others off its SM
};

using GpuKernel = cudaError_t (*)(const GpuLaunch&);

// gpu_chain_kernels.cu, gpu_chain_kernels_80.cu: two lanes in an instruction where it says 2
cudaError_t LaunchDfma(const GpuLaunch& launch);
cudaError_t LaunchFfma(const GpuLaunch& launch);
cudaError_t LaunchHfma2(const GpuLaunch& launch);
cudaError_t LaunchDp4a(const GpuLaunch& launch);
cudaError_t LaunchBf16Hfma2(const GpuLaunch& launch);

// gpu_mma_kernels*.cu: mma.sync
cudaError_t LaunchMmaFp16K8(const GpuLaunch& launch);
cudaError_t LaunchMmaInt8K16(const GpuLaunch& launch);
cudaError_t LaunchMmaFp16(const GpuLaunch& launch);
cudaError_t LaunchMmaBf16(const GpuLaunch& launch);
cudaError_t LaunchMmaTf32(const GpuLaunch& launch);
cudaError_t LaunchMmaInt8(const GpuLaunch& launch);
cudaError_t LaunchMmaFp64K4(const GpuLaunch& launch);
cudaError_t LaunchMmaFp64K16(const GpuLaunch& launch);
cudaError_t LaunchMmaFp8(const GpuLaunch& launch);

// gpu_wgmma_kernels.cu
cudaError_t LaunchWgmmaFp16(const GpuLaunch& launch);
cudaError_t LaunchWgmmaBf16(const GpuLaunch& launch);
cudaError_t LaunchWgmmaTf32(const GpuLaunch& launch);
cudaError_t LaunchWgmmaInt8(const GpuLaunch& launch);
cudaError_t LaunchWgmmaFp8(const GpuLaunch& launch);

// gpu_memory_kernels.cu
cudaError_t LaunchDramLoad(const GpuLaunch& launch);
cudaError_t LaunchL2Load(const GpuLaunch& launch);
cudaError_t LaunchStore(const GpuLaunch& launch);
cudaError_t LaunchCopy(const GpuLaunch& launch);
cudaError_t LaunchTriad(const GpuLaunch& launch);
cudaError_t LaunchL1Load(const GpuLaunch& launch);
cudaError_t LaunchShared(const GpuLaunch& launch);

// Random bits in all of set_bytes (a multiple of 16) of `results`.
cudaError_t LaunchFill(const GpuLaunch& launch);
cudaError_t LaunchNothing(cudaStream_t stream);

}  // namespace dlroof
