// A kernel of independent chains of dependent multiply-adds.
#pragma once

#include "ceilings/cuda_kernels/launch.cuh"

namespace dlroof::cuda_kernels {

// A Chain has Register, kUnroll and Step(v, a, b), which returns the next v; the loop body has
// kChains * kUnroll instructions. Floating-point chains compute v * v + b with b near -2, which
// never converges (ceilings/gpu_ceilings/known.cpp). v * a + b would converge to b / (1 - a), and
// constant bits use less power than real operands, so that the clock would be too high.
template <class Chain, int kChains = 8>
__global__ void ChainKernel(const typename Chain::Register* operands,
                            typename Chain::Register* results, long long iterations) {
  const int thread = threadIdx.x, threads = blockDim.x;
  const auto a = operands[thread], b = operands[threads + thread];
  typename Chain::Register v[kChains];
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) v[chain] = operands[(2 + chain) * threads + thread];
#pragma unroll 1
  for (long long i = 0; i < iterations; ++i)
#pragma unroll
    for (int step = 0; step < Chain::kUnroll; ++step)
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) v[chain] = Chain::Step(v[chain], a, b);
  const size_t first = static_cast<size_t>(blockIdx.x) * kChains * threads + thread;
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain)
    results[first + static_cast<size_t>(chain) * threads] = v[chain];
}

template <class Chain>
cudaError_t LaunchChain(const GpuLaunch& launch) {
  using Register = typename Chain::Register;
  return cuda::Launch(ChainKernel<Chain>, GridOf(launch),
                      static_cast<const Register*>(launch.operands),
                      static_cast<Register*>(launch.results), launch.iterations);
}

}  // namespace dlroof::cuda_kernels
