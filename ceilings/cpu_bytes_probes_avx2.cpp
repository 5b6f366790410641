// Memory kernels on avx2 vectors: 16 of them per stream and iteration.
// The place is kept in a local (in memory it would be a chain of stores and loads), and pointers
// are opaque so that addresses have no index register (Intel's third store port takes none).
#include <immintrin.h>

#include <cstdint>

#include "ceilings/cpu_bytes_probes.h"

namespace dlroof {
namespace {

constexpr std::size_t kVector = 8, kUnrolled = 16, kStep = kVector * kUnrolled;  // [float]

__attribute__((target("avx2,fma"))) void Load(Workspace& workspace, std::int64_t iterations) {
  Walk walk(workspace, kStep);
  for (; iterations > 0; --iterations) {
    const float* from = walk.In(0);
    for (std::size_t i = 0; i < kUnrolled; ++i) {
      const __m256 value = _mm256_load_ps(from + kVector * i);
      asm volatile("" : : "x"(value));  // used: a load without a use is deleted
    }
    walk.Step();
  }
  walk.Keep(workspace);
}

__attribute__((target("avx2,fma"))) void Copy(Workspace& workspace, std::int64_t iterations) {
  Walk walk(workspace, kStep);
  for (; iterations > 0; --iterations) {
    float* to = walk.In(0);
    const float* from = walk.In(1);
    for (std::size_t i = 0; i < kUnrolled; ++i) {
      __m256 value = _mm256_load_ps(from + kVector * i);
      asm volatile("" : "+x"(value));  // opaque: not to become a call of memcpy
      _mm256_store_ps(to + kVector * i, value);
    }
    walk.Step();
  }
  walk.Keep(workspace);
}

__attribute__((target("avx2,fma"))) void Triad(Workspace& workspace, std::int64_t iterations) {
  Walk walk(workspace, kStep);
  __m256 scale = _mm256_set1_ps(3.0F);
  asm volatile("" : "+x"(scale));
  for (; iterations > 0; --iterations) {
    float* to = walk.In(0);
    const float* from = walk.In(1);
    const float* scaled = walk.In(2);
    for (std::size_t i = 0; i < kUnrolled; ++i) {
      __m256 value = _mm256_fmadd_ps(scale, _mm256_load_ps(scaled + kVector * i),
                                     _mm256_load_ps(from + kVector * i));
      _mm256_store_ps(to + kVector * i, value);
    }
    walk.Step();
  }
  walk.Keep(workspace);
}

__attribute__((target("avx2,fma"))) void StreamingCopy(Workspace& workspace,
                                                       std::int64_t iterations) {
  Walk walk(workspace, kStep);
  for (; iterations > 0; --iterations) {
    float* to = walk.In(0);
    const float* from = walk.In(1);
    for (std::size_t i = 0; i < kUnrolled; ++i) {
      __m256 value = _mm256_load_ps(from + kVector * i);
      asm volatile("" : "+x"(value));  // opaque: not to become a call of memcpy
      _mm256_stream_ps(to + kVector * i, value);
    }
    walk.Step();
  }
  walk.Keep(workspace);
  _mm_sfence();
}

__attribute__((target("avx2,fma"))) void StreamingTriad(Workspace& workspace,
                                                        std::int64_t iterations) {
  Walk walk(workspace, kStep);
  __m256 scale = _mm256_set1_ps(3.0F);
  asm volatile("" : "+x"(scale));
  for (; iterations > 0; --iterations) {
    float* to = walk.In(0);
    const float* from = walk.In(1);
    const float* scaled = walk.In(2);
    for (std::size_t i = 0; i < kUnrolled; ++i) {
      __m256 value = _mm256_fmadd_ps(scale, _mm256_load_ps(scaled + kVector * i),
                                     _mm256_load_ps(from + kVector * i));
      _mm256_stream_ps(to + kVector * i, value);
    }
    walk.Step();
  }
  walk.Keep(workspace);
  _mm_sfence();
}

}  // namespace

BytesIsa BytesAvx2() {
  return {"avx2", {"avx2", "fma"}, kStep, Load, Copy, Triad, StreamingCopy, StreamingTriad};
}

}  // namespace dlroof
