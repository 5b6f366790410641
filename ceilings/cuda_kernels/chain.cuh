// Chains of dependent multiply-adds, independent of each other.
#pragma once

#include "ceilings/cuda_kernels/launch.cuh"

namespace dlroof::cuda_kernels {

// Chain: Register, kUnroll and Step(v, a, b) -> v. Floating point squares: v * v + b with b near -2
// never comes to rest (gpu_known/chain.cpp), where v * a + b soon is b / (1 - a) and the same bits
// over and over take less power than a real call's. A loop of kChains * kUnroll instructions.
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
