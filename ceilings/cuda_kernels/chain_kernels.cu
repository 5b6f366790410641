// Multiply-adds of single threads in fp64, fp32, fp16 (pairs) and int8 (dot products of 4).
#include <cuda_fp16.h>

#include "ceilings/cuda_kernels/chain.cuh"

namespace dlroof::cuda_kernels {
namespace {

struct Dfma {
  using Register = double;
  static constexpr int kUnroll = 32;
  static __device__ double Step(double v, double, double b) { return __fma_rn(v, v, b); }
};

struct Ffma {
  using Register = float;
  static constexpr int kUnroll = 64;
  static __device__ float Step(float v, float, float b) { return __fmaf_rn(v, v, b); }
};

struct Hfma2 {
  using Register = __half2;
  static constexpr int kUnroll = 64;
  static __device__ __half2 Step(__half2 v, __half2, __half2 b) { return __hfma2(v, v, b); }
};

struct Dp4a {
  using Register = int;
  static constexpr int kUnroll = 64;
  static __device__ int Step(int v, int a, int b) { return __dp4a(a, b, v); }
};

}  // namespace

cudaError_t LaunchDfma(const GpuLaunch& launch) { return LaunchChain<Dfma>(launch); }
cudaError_t LaunchFfma(const GpuLaunch& launch) { return LaunchChain<Ffma>(launch); }
cudaError_t LaunchHfma2(const GpuLaunch& launch) { return LaunchChain<Hfma2>(launch); }
cudaError_t LaunchDp4a(const GpuLaunch& launch) { return LaunchChain<Dp4a>(launch); }

}  // namespace dlroof::cuda_kernels
