// bf16 multiply-adds (pairs), which are instructions from 8.0 on.
#include <cuda_bf16.h>

#include "ceilings/cuda_kernels/chain.cuh"

namespace dlroof::cuda_kernels {
namespace {

struct Bf16Hfma2 {
  using Register = __nv_bfloat162;
  static constexpr int kUnroll = 64;
  static __device__ Register Step(Register v, Register, Register b) { return __hfma2(v, v, b); }
};

}  // namespace

cudaError_t LaunchBf16Hfma2(const GpuLaunch& launch) { return LaunchChain<Bf16Hfma2>(launch); }

}  // namespace dlroof::cuda_kernels
