// Products of small matrices by a warp, mma.sync, on independent accumulators.
#pragma once

#include "ceilings/cuda/launch.cuh"

namespace dlroof {

// Mma: Register, Sum, kA, kB, kSums (registers of a thread), kChains, and Step(sums, a, b), one
// instruction.
template <class Mma>
__global__ void MmaKernel(const typename Mma::Register* operands, typename Mma::Sum* results,
                          long long iterations) {
  constexpr int kUnroll = 4, kSlots = Mma::kChains * Mma::kSums;
  const int thread = threadIdx.x, threads = blockDim.x;
  typename Mma::Register a[Mma::kA], b[Mma::kChains][Mma::kB];
  typename Mma::Sum sums[Mma::kChains][Mma::kSums];
  const auto* start = reinterpret_cast<const typename Mma::Sum*>(
      operands + (Mma::kA + Mma::kChains * Mma::kB) * threads);
#pragma unroll
  for (int i = 0; i < Mma::kA; ++i) a[i] = operands[i * threads + thread];
#pragma unroll
  for (int chain = 0; chain < Mma::kChains; ++chain) {
#pragma unroll
    for (int i = 0; i < Mma::kB; ++i)
      b[chain][i] = operands[(Mma::kA + chain * Mma::kB + i) * threads + thread];
#pragma unroll
    for (int i = 0; i < Mma::kSums; ++i)
      sums[chain][i] = start[(chain * Mma::kSums + i) * threads + thread];
  }
#pragma unroll 1
  for (long long i = 0; i < iterations; ++i)
#pragma unroll
    for (int step = 0; step < kUnroll; ++step)
#pragma unroll
      for (int chain = 0; chain < Mma::kChains; ++chain) Mma::Step(sums[chain], a, b[chain]);
  const size_t first = static_cast<size_t>(blockIdx.x) * kSlots * threads + thread;
#pragma unroll
  for (int chain = 0; chain < Mma::kChains; ++chain)
#pragma unroll
    for (int i = 0; i < Mma::kSums; ++i)
      results[first + static_cast<size_t>(chain * Mma::kSums + i) * threads] = sums[chain][i];
}

template <class Mma>
cudaError_t LaunchMma(const GpuLaunch& launch) {
  return Launch(MmaKernel<Mma>, GridOf(launch), static_cast<const typename Mma::Register*>(launch.operands),
      static_cast<typename Mma::Sum*>(launch.results), launch.iterations);
}

}  // namespace dlroof
