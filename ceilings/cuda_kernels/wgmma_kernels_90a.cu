// Matrix multiplications of 64 x 256 results by a warpgroup (wgmma; only Hopper, sm_90a).
#include "ceilings/cuda_kernels/launch.cuh"
#include "ceilings/gpu_ceilings/constants.h"

// The accumulators of a thread as operand lists for inline assembly: the first is written out, and
// `next` writes each of the other 127 with a comma before it.
#define DLROOF_TEN(next, tens)                                                        \
  next(tens##0) next(tens##1) next(tens##2) next(tens##3) next(tens##4) next(tens##5) \
      next(tens##6) next(tens##7) next(tens##8) next(tens##9)
#define DLROOF_OTHER_SUMS(next)                                                                 \
  next(1) next(2) next(3) next(4) next(5) next(6) next(7) next(8) next(9) DLROOF_TEN(next, 1)   \
      DLROOF_TEN(next, 2) DLROOF_TEN(next, 3) DLROOF_TEN(next, 4) DLROOF_TEN(next, 5)           \
          DLROOF_TEN(next, 6) DLROOF_TEN(next, 7) DLROOF_TEN(next, 8) DLROOF_TEN(next, 9)       \
              DLROOF_TEN(next, 10) DLROOF_TEN(next, 11) next(120) next(121) next(122) next(123) \
                  next(124) next(125) next(126) next(127)
#define DLROOF_NUMBER(n) ", %" #n
#define DLROOF_FLOAT(n) , "+f"(sums[n])
#define DLROOF_INT(n) , "+r"(sums[n])

namespace dlroof::cuda_kernels {
namespace {

constexpr int kSums = 128;  // accumulators of a thread
constexpr int kRowsOfA = 64, kRowsOfB = 256;
constexpr int kTileBytes = (kRowsOfA + kRowsOfB) * gpu_ceilings::kWgmmaTileBytes;

using Descriptor = unsigned long long;

// Returns the shared-memory descriptor of a tile (PTX ISA 9.0, "Matrix Descriptor Format"), without
// swizzle: the tile's address, the distance of the next core matrix (8 rows x 16 byte) along k (128
// byte), and that of the next 8 rows (256 byte), all in units of 16 byte.
__device__ Descriptor DescriptorOf(const void* tile) {
  constexpr Descriptor kAlongK = 128 / 16, kNextRows = 256 / 16;
  const Descriptor begin = (static_cast<unsigned>(__cvta_generic_to_shared(tile)) & 0x3ffff) >> 4;
  return begin | kAlongK << 16 | kNextRows << 32;
}

// Defines a struct that executes a wgmma instruction. `scales` are the instruction's last operands:
// the predicate that makes it add to the sums, and the signs and transpositions of A and B.
#define DLROOF_WGMMA(name, SumType, constraint, next, instruction, scales)          \
  struct name {                                                                     \
    using Sum = SumType;                                                            \
    static __device__ void Step(Sum (&sums)[kSums], Descriptor a, Descriptor b) {   \
      asm volatile(                                                                 \
          "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"                             \
          "wgmma.mma_async.sync.aligned." instruction                               \
          " {%0" DLROOF_OTHER_SUMS(DLROOF_NUMBER) "}, %128, %129, " scales ";\n}\n" \
          : constraint(sums[0]) DLROOF_OTHER_SUMS(next)                             \
          : "l"(a), "l"(b), "r"(1));                                                \
    }                                                                               \
  }
DLROOF_WGMMA(Fp16, float, "+f", DLROOF_FLOAT, "m64n256k16.f32.f16.f16", "p, 1, 1, 0, 0");
DLROOF_WGMMA(Bf16, float, "+f", DLROOF_FLOAT, "m64n256k16.f32.bf16.bf16", "p, 1, 1, 0, 0");
DLROOF_WGMMA(Tf32, float, "+f", DLROOF_FLOAT, "m64n256k8.f32.tf32.tf32", "p, 1, 1");
DLROOF_WGMMA(Int8, int, "+r", DLROOF_INT, "m64n256k32.s32.s8.s8", "p");
DLROOF_WGMMA(Fp8, float, "+f", DLROOF_FLOAT, "m64n256k32.f32.e4m3.e4m3", "p, 1, 1");

template <class Wgmma>
__global__ void __launch_bounds__(256, 1)
    WgmmaKernel(const uint4* operands, typename Wgmma::Sum* results, long long iterations) {
  __shared__ alignas(128) char tiles[gpu_ceilings::kWgmmaTiles * kTileBytes];
  for (unsigned i = threadIdx.x; i < sizeof(tiles) / sizeof(uint4); i += blockDim.x)
    reinterpret_cast<uint4*>(tiles)[i] = operands[i];
  // Makes the stores visible to wgmma, which reads shared memory through the async proxy.
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  typename Wgmma::Sum sums[kSums];
#pragma unroll
  for (int i = 0; i < kSums; ++i) sums[i] = 0;
#pragma unroll 1
  for (long long i = 0; i < iterations; ++i) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int step = 0; step < gpu_ceilings::kWgmmaSteps; ++step) {
      const char* tile = tiles + step % gpu_ceilings::kWgmmaTiles * kTileBytes;
      Wgmma::Step(sums, DescriptorOf(tile),
                  DescriptorOf(tile + kRowsOfA * gpu_ceilings::kWgmmaTileBytes));
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  const size_t first = static_cast<size_t>(blockIdx.x) * kSums * blockDim.x + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kSums; ++i) results[first + static_cast<size_t>(i) * blockDim.x] = sums[i];
}

template <class Wgmma>
cudaError_t LaunchWgmma(const GpuLaunch& launch) {
  return cuda::Launch(WgmmaKernel<Wgmma>, GridOf(launch),
                      static_cast<const uint4*>(launch.operands),
                      static_cast<typename Wgmma::Sum*>(launch.results), launch.iterations);
}

}  // namespace

cudaError_t LaunchWgmmaFp16(const GpuLaunch& launch) { return LaunchWgmma<Fp16>(launch); }
cudaError_t LaunchWgmmaBf16(const GpuLaunch& launch) { return LaunchWgmma<Bf16>(launch); }
cudaError_t LaunchWgmmaTf32(const GpuLaunch& launch) { return LaunchWgmma<Tf32>(launch); }
cudaError_t LaunchWgmmaInt8(const GpuLaunch& launch) { return LaunchWgmma<Int8>(launch); }
cudaError_t LaunchWgmmaFp8(const GpuLaunch& launch) { return LaunchWgmma<Fp8>(launch); }

}  // namespace dlroof::cuda_kernels
