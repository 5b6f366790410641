#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "counters/cuda/cupti_known_kernels.h"

namespace dlroof::cuda {
namespace {

struct Fp32 {
  using Type = float;
  static __device__ Type Fma(Type v, Type a, Type b) { return __fmaf_rn(v, a, b); }
  static Type Of(float x) { return x; }
};
struct Fp64 {
  using Type = double;
  static __device__ Type Fma(Type v, Type a, Type b) { return __fma_rn(v, a, b); }
  static Type Of(float x) { return x; }
};
struct Fp16x2 {
  using Type = __half2;
  static __device__ Type Fma(Type v, Type a, Type b) { return __hfma2(v, a, b); }
  static Type Of(float x) { return __float2half2_rn(x); }
};
struct Bf16x2 {
  using Type = __nv_bfloat162;
  static __device__ Type Fma(Type v, Type a, Type b) {
#if __CUDA_ARCH__ >= 800  // Older GPUs lack this instruction; the host does not launch it there.
    return __hfma2(v, a, b);
#else
    return v;
#endif
  }
  static Type Of(float x) { return __float2bfloat162_rn(x); }
};

template <class Op>
__global__ void Chain(typename Op::Type* elements, typename Op::Type a, typename Op::Type b,
                      int rounds) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  auto value = elements[i];
#pragma unroll 1
  for (int k = 0; k < rounds; k += 16) {
#pragma unroll
    for (int u = 0; u < 16; ++u) value = Op::Fma(value, a, b);
  }
  elements[i] = value;
}

// One tile product with mma.sync: 4 registers of A, 2 of B, 4 of the sums.
template <KnownTile type>
__device__ void Mma(uint32_t (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800  // Older GPUs lack these shapes; the host does not launch them there.
#define DLROOF_MMA(shape_and_types)                                     \
  asm volatile("mma.sync.aligned." shape_and_types                      \
               " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3]) \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
  if constexpr (type == KnownTile::kFp16) DLROOF_MMA("m16n8k16.row.col.f32.f16.f16.f32");
  if constexpr (type == KnownTile::kBf16) DLROOF_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
  if constexpr (type == KnownTile::kTf32) DLROOF_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
  if constexpr (type == KnownTile::kInt8) DLROOF_MMA("m16n8k32.row.col.s32.s8.s8.s32");
#undef DLROOF_MMA
#endif
}

template <KnownTile type>
__global__ void Tiles(uint32_t* operands, int rounds) {
  uint32_t a[4], b[2], sum[4] = {0, 0, 0, 0};
  for (int i = 0; i < 4; ++i) a[i] = operands[threadIdx.x + i * kKnownThreads];
  for (int i = 0; i < 2; ++i) b[i] = operands[threadIdx.x + i * kKnownThreads];
#pragma unroll 1
  for (int k = 0; k < rounds; ++k) Mma<type>(sum, a, b);
  if (sum[0] == 123) operands[threadIdx.x] = sum[0];  // never true, as all operands are 0
}

__global__ void Fp64Tiles(double* operands, int rounds) {
  double sum[2] = {0, 0};
  const double a = operands[threadIdx.x], b = a;
#if __CUDA_ARCH__ >= 800
#pragma unroll 1
  for (int k = 0; k < rounds; ++k)
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(sum[0]), "+d"(sum[1])
                 : "d"(a), "d"(b));
#endif
  if (sum[0] == 123) operands[threadIdx.x] = b * rounds;
}

__global__ void Copy(const float4* __restrict__ from, float4* __restrict__ to, size_t count) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < count; i += step)
    to[i] = from[i];
}

__global__ void L2Loads(const float4* from, float* sink, unsigned count, int loads) {
  const unsigned step = gridDim.x * blockDim.x;
  unsigned i = (blockIdx.x * blockDim.x + threadIdx.x) % count;
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < loads; k += 8) {
    float4 values[8];
#pragma unroll
    for (auto& value : values) {
      value = __ldcg(from + i);
      i += step;
      if (i >= count) i -= count;
    }
#pragma unroll
    for (const auto& value : values) sum += value.x + value.y + value.z + value.w;
  }
  if (sum == 12345.678F) *sink = sum;
}

__global__ void SharedLoads(float* sink, int loads) {
  __shared__ float store[1024];
  for (int k = 0; k < 4; ++k)
    static_cast<volatile float*>(store)[threadIdx.x + k * kKnownThreads] = static_cast<float>(k);
  __syncthreads();
  const auto base = static_cast<unsigned>(__cvta_generic_to_shared(store));
  float sum = 0;
#pragma unroll 4
  for (int k = 0; k < loads; ++k) {
    float value;
    asm volatile("ld.shared.f32 %0, [%1];"
                 : "=f"(value)
                 : "r"(base + (((threadIdx.x + k * 32) * 4) & 4095)));
    sum += value;
  }
  if (sum == 12345.678F) *sink = sum;
}

template <class Op>
void StartChain(void* elements, int blocks, int rounds) {
  Chain<Op><<<blocks, kKnownThreads>>>(static_cast<typename Op::Type*>(elements), Op::Of(0.999F),
                                       Op::Of(0.5F), rounds);
}

}  // namespace

cudaError_t LaunchKnownFma(KnownVector type, void* elements, int blocks, int rounds) {
  if (type == KnownVector::kFp32) StartChain<Fp32>(elements, blocks, rounds);
  if (type == KnownVector::kFp64) StartChain<Fp64>(elements, blocks, rounds);
  if (type == KnownVector::kFp16x2) StartChain<Fp16x2>(elements, blocks, rounds);
  if (type == KnownVector::kBf16x2) StartChain<Bf16x2>(elements, blocks, rounds);
  return cudaGetLastError();
}

cudaError_t LaunchKnownTiles(KnownTile type, void* operands, int blocks, int rounds) {
  auto* bits = static_cast<uint32_t*>(operands);
  const dim3 grid(static_cast<unsigned>(blocks)), block(kKnownThreads);
  if (type == KnownTile::kFp16) Tiles<KnownTile::kFp16><<<grid, block>>>(bits, rounds);
  if (type == KnownTile::kBf16) Tiles<KnownTile::kBf16><<<grid, block>>>(bits, rounds);
  if (type == KnownTile::kTf32) Tiles<KnownTile::kTf32><<<grid, block>>>(bits, rounds);
  if (type == KnownTile::kInt8) Tiles<KnownTile::kInt8><<<grid, block>>>(bits, rounds);
  if (type == KnownTile::kFp64) Fp64Tiles<<<grid, block>>>(static_cast<double*>(operands), rounds);
  return cudaGetLastError();
}

double KnownTileOperations(KnownTile type) {
  if (type == KnownTile::kTf32) return 2.0 * 16 * 8 * 8;
  if (type == KnownTile::kInt8) return 2.0 * 16 * 8 * 32;
  return type == KnownTile::kFp64 ? 2.0 * 8 * 8 * 4 : 2.0 * 16 * 8 * 16;
}

cudaError_t LaunchKnownCopy(const void* from, void* to, size_t bytes, int blocks) {
  Copy<<<blocks, kKnownThreads>>>(static_cast<const float4*>(from), static_cast<float4*>(to),
                                  bytes / sizeof(float4));
  return cudaGetLastError();
}

cudaError_t LaunchKnownL2Loads(const void* from, void* sink, size_t bytes, int blocks, int loads) {
  L2Loads<<<blocks, kKnownThreads>>>(static_cast<const float4*>(from), static_cast<float*>(sink),
                                     static_cast<unsigned>(bytes / sizeof(float4)), loads);
  return cudaGetLastError();
}

cudaError_t LaunchKnownSharedLoads(void* sink, int blocks, int loads) {
  SharedLoads<<<blocks, kKnownThreads>>>(static_cast<float*>(sink), loads);
  return cudaGetLastError();
}

}  // namespace dlroof::cuda
