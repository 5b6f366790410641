// Products of small matrices by a warp (mma.sync) on independent accumulators.
#pragma once

#include "ceilings/cuda_kernels/launch.cuh"

namespace dlroof::cuda_kernels {

// An instruction with m = 16 and n = 8 in 32-bit registers. `in` is the asm constraint of its sums.
#define DLROOF_MMA_M16N8(name, SumType, in, instruction)                                \
  struct name {                                                                         \
    using Register = unsigned;                                                          \
    using Sum = SumType;                                                                \
    static constexpr int kA = 4, kB = 2, kSums = 4, kChains = 8;                        \
    static __device__ void Step(Sum* sums, const Register* a, const Register* b) {      \
      asm volatile("mma.sync.aligned." instruction                                      \
                   " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"   \
                   : "+" in(sums[0]), "+" in(sums[1]), "+" in(sums[2]), "+" in(sums[3]) \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
    }                                                                                   \
  }

// An Mma has Register, Sum, kA, kB and kSums (registers of a thread), kChains, and Step(sums, a,
// b), which is one instruction.
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
  return cuda::Launch(MmaKernel<Mma>, GridOf(launch),
                      static_cast<const typename Mma::Register*>(launch.operands),
                      static_cast<typename Mma::Sum*>(launch.results), launch.iterations);
}

}  // namespace dlroof::cuda_kernels
