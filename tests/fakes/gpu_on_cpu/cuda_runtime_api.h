// CUDA's words for kernels that run on the CPU: one thread after another.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>

#define __global__
#define __device__
#define __shared__ static

using cudaError_t = int;
using cudaStream_t = void*;
constexpr cudaError_t cudaSuccess = 0;

struct Position {
  unsigned x = 0;
};
inline Position blockIdx, threadIdx, blockDim, gridDim;
inline bool threads_meet = false;
// Returns for every thread alone. Launch runs the block again, then with all that was stored.
inline void __syncthreads() { threads_meet = true; }

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) ulonglong2 {
  unsigned long long x, y;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }

inline float __uint_as_float(unsigned bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline unsigned __float_as_uint(float value) {
  unsigned bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline int __dp4a(int a, int b, int c) {
  auto sum = static_cast<unsigned>(c);
  for (int byte = 0; byte < 32; byte += 8)
    sum += static_cast<unsigned>(static_cast<signed char>(a >> byte) *
                                 static_cast<signed char>(b >> byte));
  return static_cast<int>(sum);
}

// An offset from the start of the array that was asked about last.
inline const char* shared_memory = nullptr;
inline std::size_t __cvta_generic_to_shared(const void* array) {
  shared_memory = static_cast<const char*>(array);
  return 0;
}

inline const uint4* counted_from = nullptr;
inline unsigned char* counts = nullptr;  // reads of each vector
inline uint4 __ldcg(const uint4* from) {
  if (counts != nullptr) ++counts[from - counted_from];
  return *from;
}

inline unsigned long long nanoseconds_now = 0;
inline long long clock64() { return static_cast<long long>(2 * nanoseconds_now); }
inline void __nanosleep(unsigned nanoseconds) { nanoseconds_now += nanoseconds; }
