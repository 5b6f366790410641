// Memory kernels on avx512 vectors: 16 of them per stream and iteration.
// The place is kept in a local (in memory it would be a chain of stores and loads), and pointers
// are opaque so that addresses have no index register (Intel's third store port takes none).
#include <immintrin.h>

#include <cstdint>

#include "ceilings/cpu_bytes_probes.h"

namespace dlroof {
namespace {

constexpr std::size_t kVector = 16, kUnrolled = 16, kStep = kVector * kUnrolled;  // [float]

__attribute__((target("avx512f"))) void Load(Workspace& workspace, std::int64_t iterations) {
  Walk walk(workspace, kStep);
  for (; iterations > 0; --iterations) {
    const float* from = walk.In(0);
    for (std::size_t i = 0; i < kUnrolled; ++i) {
      const __m512 value = _mm512_load_ps(from + kVector * i);
      asm volatile("" : : "v"(value));  // used: a load without a use is deleted
    }
    walk.Step();
  }
  walk.Keep(workspace);
}

__attribute__((target("avx512f"))) void Copy(Workspace& workspace, std::int64_t iterations) {
  Walk walk(workspace, kStep);
  for (; iterations > 0; --iterations) {
    float* to = walk.In(0);
    const float* from = walk.In(1);
    for (std::size_t i = 0; i < kUnrolled; ++i) {
      __m512 value = _mm512_load_ps(from + kVector * i);
      asm volatile("" : "+v"(value));  // opaque: not to become a call of memcpy
      _mm512_store_ps(to + kVector * i, value);
    }
    walk.Step();
  }
  walk.Keep(workspace);
}

__attribute__((target("avx512f"))) void Triad(Workspace& workspace, std::int64_t iterations) {
  Walk walk(workspace, kStep);
  __m512 scale = _mm512_set1_ps(3.0F);
  asm volatile("" : "+v"(scale));
  for (; iterations > 0; --iterations) {
    float* to = walk.In(0);
    const float* from = walk.In(1);
    const float* scaled = walk.In(2);
    for (std::size_t i = 0; i < kUnrolled; ++i) {
      __m512 value = _mm512_fmadd_ps(scale, _mm512_load_ps(scaled + kVector * i),
                                     _mm512_load_ps(from + kVector * i));
      _mm512_store_ps(to + kVector * i, value);
    }
    walk.Step();
  }
  walk.Keep(workspace);
}

__attribute__((target("avx512f"))) void StreamingCopy(Workspace& workspace,
                                                      std::int64_t iterations) {
  Walk walk(workspace, kStep);
  for (; iterations > 0; --iterations) {
    float* to = walk.In(0);
    const float* from = walk.In(1);
    for (std::size_t i = 0; i < kUnrolled; ++i) {
      __m512 value = _mm512_load_ps(from + kVector * i);
      asm volatile("" : "+v"(value));  // opaque: not to become a call of memcpy
      _mm512_stream_ps(to + kVector * i, value);
    }
    walk.Step();
  }
  walk.Keep(workspace);
  _mm_sfence();
}

__attribute__((target("avx512f"))) void StreamingTriad(Workspace& workspace,
                                                       std::int64_t iterations) {
  Walk walk(workspace, kStep);
  __m512 scale = _mm512_set1_ps(3.0F);
  asm volatile("" : "+v"(scale));
  for (; iterations > 0; --iterations) {
    float* to = walk.In(0);
    const float* from = walk.In(1);
    const float* scaled = walk.In(2);
    for (std::size_t i = 0; i < kUnrolled; ++i) {
      __m512 value = _mm512_fmadd_ps(scale, _mm512_load_ps(scaled + kVector * i),
                                     _mm512_load_ps(from + kVector * i));
      _mm512_stream_ps(to + kVector * i, value);
    }
    walk.Step();
  }
  walk.Keep(workspace);
  _mm_sfence();
}

}  // namespace

BytesIsa BytesAvx512() {
  return {"avx512", {"avx512f"}, kStep, Load, Copy, Triad, StreamingCopy, StreamingTriad};
}

}  // namespace dlroof
