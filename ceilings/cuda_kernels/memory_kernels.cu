// Kernels that load and sum, store, copy, or compute a triad, for each memory level. Tests check by
// sums and machine code that no load is deleted or reused.
#include "ceilings/cuda_kernels/launch.cuh"
#include "ceilings/cuda_kernels/memory_access.cuh"
#include "ceilings/gpu_ceilings/constants.h"

namespace dlroof::cuda_kernels {
namespace {

using gpu_ceilings::kCopiesTogether;
using gpu_ceilings::kL1BytesPerBlock;
using gpu_ceilings::kL1VectorsPerThread;
using gpu_ceilings::kLoadsTogether;
using gpu_ceilings::kStoredFactor;
using gpu_ceilings::kStoresTogether;
using gpu_ceilings::kTriadFactor;
using gpu_ceilings::kTriadsTogether;

__device__ unsigned Sum(uint4 v) { return v.x + v.y + v.z + v.w; }

__device__ size_t FirstVector() {
  return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ size_t Stride() { return static_cast<size_t>(gridDim.x) * blockDim.x; }

template <uint4 (*kLoad)(const uint4*)>
__global__ void LoadKernel(const uint4* set, size_t vectors, unsigned* sums, long long passes) {
  const size_t stride = Stride();
  unsigned sum = 0;
#pragma unroll 1
  for (long long pass = 0; pass < passes; ++pass) {
    size_t i = FirstVector();
#pragma unroll 1
    for (; i + (kLoadsTogether - 1) * stride < vectors; i += kLoadsTogether * stride) {
      uint4 v[kLoadsTogether];
#pragma unroll
      for (int j = 0; j < kLoadsTogether; ++j) v[j] = kLoad(set + i + j * stride);
#pragma unroll
      for (int j = 0; j < kLoadsTogether; ++j) sum += Sum(v[j]);
    }
#pragma unroll 1
    for (; i < vectors; i += stride) sum += Sum(kLoad(set + i));
  }
  sums[FirstVector()] = sum;
}

__global__ void StoreKernel(uint4* set, size_t vectors, long long passes) {
  const size_t stride = Stride();
#pragma unroll 1
  for (long long pass = 1; pass <= passes; ++pass) {
    const unsigned word = kStoredFactor * static_cast<unsigned>(pass);
    const uint4 v = make_uint4(word, word, word, word);
#pragma unroll kStoresTogether
    for (size_t i = FirstVector(); i < vectors; i += stride) StoreVector(set + i, v);
  }
}

__global__ void CopyKernel(const uint4* from, uint4* to, size_t vectors, long long passes) {
  const size_t stride = Stride();
#pragma unroll 1
  for (long long pass = 0; pass < passes; ++pass) {
    size_t i = FirstVector();
#pragma unroll 1
    for (; i + (kCopiesTogether - 1) * stride < vectors; i += kCopiesTogether * stride) {
      uint4 v[kCopiesTogether];
#pragma unroll
      for (int j = 0; j < kCopiesTogether; ++j) v[j] = LoadPastL1(from + i + j * stride);
#pragma unroll
      for (int j = 0; j < kCopiesTogether; ++j) to[i + j * stride] = v[j];
    }
#pragma unroll 1
    for (; i < vectors; i += stride) to[i] = LoadPastL1(from + i);
  }
}

__device__ unsigned TriadWord(unsigned b, unsigned c) {
  return __float_as_uint(__fmaf_rn(kTriadFactor, __uint_as_float(c), __uint_as_float(b)));
}

__device__ uint4 TriadVector(const uint4* b, const uint4* c) {
  const uint4 x = LoadPastL1(b), y = LoadPastL1(c);
  return make_uint4(TriadWord(x.x, y.x), TriadWord(x.y, y.y), TriadWord(x.z, y.z),
                    TriadWord(x.w, y.w));
}

__global__ void TriadKernel(const uint4* b, const uint4* c, uint4* a, size_t vectors,
                            long long passes) {
  const size_t stride = Stride();
#pragma unroll 1
  for (long long pass = 0; pass < passes; ++pass) {
    size_t i = FirstVector();
#pragma unroll 1
    for (; i + (kTriadsTogether - 1) * stride < vectors; i += kTriadsTogether * stride) {
      uint4 v[kTriadsTogether];
#pragma unroll
      for (int j = 0; j < kTriadsTogether; ++j)
        v[j] = TriadVector(b + i + j * stride, c + i + j * stride);
#pragma unroll
      for (int j = 0; j < kTriadsTogether; ++j) a[i + j * stride] = v[j];
    }
#pragma unroll 1
    for (; i < vectors; i += stride) a[i] = TriadVector(b + i, c + i);
  }
}

constexpr unsigned kBlockVectors = kL1BytesPerBlock / sizeof(uint4);

// Returns the index, in its block's part of the array, of the vector that a thread loads. At each
// load the threads of the block together load the whole part. The index differs from that of the
// previous load, because the compiler would move repeated loads of one address out of the loop.
__device__ unsigned PlaceOf(long long iteration, unsigned load) {
  const unsigned loads = static_cast<unsigned>(iteration) * kL1VectorsPerThread + load;
  return (threadIdx.x + 32 * loads) % kBlockVectors;
}

__global__ void L1Kernel(const uint4* set, unsigned* sums, long long iterations) {
  const uint4* part = set + static_cast<size_t>(blockIdx.x) * kBlockVectors;
  unsigned sum = 0;
#pragma unroll 1
  for (long long i = 0; i < iterations; ++i) {
    uint4 v[kL1VectorsPerThread];
#pragma unroll
    for (unsigned j = 0; j < kL1VectorsPerThread; ++j) v[j] = LoadThroughL1(part + PlaceOf(i, j));
#pragma unroll
    for (int j = 0; j < kL1VectorsPerThread; ++j) sum += Sum(v[j]);
  }
  sums[FirstVector()] = sum;
}

__global__ void SharedKernel(const uint4* set, unsigned* sums, long long iterations) {
  __shared__ uint4 part[kBlockVectors];
  part[threadIdx.x] = set[static_cast<size_t>(blockIdx.x) * kBlockVectors + threadIdx.x];
  __syncthreads();
  const auto base = static_cast<unsigned>(__cvta_generic_to_shared(part));
  unsigned sum = 0;
#pragma unroll 1
  for (long long i = 0; i < iterations; ++i) {
    uint4 v[kL1VectorsPerThread];
#pragma unroll
    for (unsigned j = 0; j < kL1VectorsPerThread; ++j)
      v[j] = LoadShared(base + PlaceOf(i, j) * sizeof(uint4));
#pragma unroll
    for (int j = 0; j < kL1VectorsPerThread; ++j) sum += Sum(v[j]);
  }
  sums[FirstVector()] = sum;
}

// Returns pseudorandom bits: the finalizer of splitmix64.
__device__ unsigned long long RandomWords(unsigned long long z) {
  z += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

__global__ void FillKernel(ulonglong2* set, size_t vectors) {
  for (size_t i = FirstVector(); i < vectors; i += Stride())
    set[i] = make_ulonglong2(RandomWords(2 * i), RandomWords(2 * i + 1));
}

size_t Vectors(const GpuLaunch& launch) { return launch.set_bytes / sizeof(uint4); }
const uint4* Operands(const GpuLaunch& launch) {
  return static_cast<const uint4*>(launch.operands);
}
uint4* Results(const GpuLaunch& launch) { return static_cast<uint4*>(launch.results); }
unsigned* Sums(const GpuLaunch& launch) { return static_cast<unsigned*>(launch.results); }

}  // namespace

cudaError_t LaunchDramLoad(const GpuLaunch& launch) {
  return cuda::Launch(LoadKernel<LoadPastL1>, GridOf(launch), Operands(launch), Vectors(launch),
                      Sums(launch), launch.iterations);
}
cudaError_t LaunchL2Load(const GpuLaunch& launch) {
  return cuda::Launch(LoadKernel<LoadFromL2>, GridOf(launch), Operands(launch), Vectors(launch),
                      Sums(launch), launch.iterations);
}
cudaError_t LaunchStore(const GpuLaunch& launch) {
  return cuda::Launch(StoreKernel, GridOf(launch), Results(launch), Vectors(launch),
                      launch.iterations);
}
cudaError_t LaunchCopy(const GpuLaunch& launch) {
  return cuda::Launch(CopyKernel, GridOf(launch), Operands(launch), Results(launch),
                      Vectors(launch) / 2, launch.iterations);
}
cudaError_t LaunchTriad(const GpuLaunch& launch) {
  const size_t vectors = Vectors(launch) / 3;
  return cuda::Launch(TriadKernel, GridOf(launch), Operands(launch), Operands(launch) + vectors,
                      Results(launch), vectors, launch.iterations);
}
cudaError_t LaunchL1Load(const GpuLaunch& launch) {
  return cuda::Launch(L1Kernel, GridOf(launch), Operands(launch), Sums(launch), launch.iterations);
}
cudaError_t LaunchShared(const GpuLaunch& launch) {
  return cuda::Launch(SharedKernel, GridOf(launch), Operands(launch), Sums(launch),
                      launch.iterations);
}
cudaError_t LaunchFill(const GpuLaunch& launch) {
  return cuda::Launch(FillKernel, GridOf(launch), static_cast<ulonglong2*>(launch.results),
                      Vectors(launch));
}

}  // namespace dlroof::cuda_kernels
