// Reads an SM's number and the GPU's timer in kernels.
#pragma once

#include <cuda_runtime_api.h>

namespace dlroof::cuda {

__device__ inline unsigned SmNumber() {
  unsigned sm = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

__device__ inline unsigned long long Nanoseconds() {
  unsigned long long nanoseconds = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

}  // namespace dlroof::cuda
