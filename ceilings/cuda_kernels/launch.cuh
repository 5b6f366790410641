// The grid of a row's launch.
#pragma once

#include "ceilings/cuda_kernels/kernels.h"
#include "counters/cuda/launch.cuh"

namespace dlroof::cuda_kernels {

inline cuda::Grid GridOf(const GpuLaunch& launch) {
  return {launch.blocks, launch.threads, launch.stream, launch.shared_bytes};
}

}  // namespace dlroof::cuda_kernels
