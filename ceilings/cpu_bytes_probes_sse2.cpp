// Memory kernels on sse2 vectors: 16 of them per stream and iteration.
// The place is kept in a local (in memory it would be a chain of stores and loads), and pointers
// are opaque so that addresses have no index register (Intel's third store port takes none).
#include <immintrin.h>

#include <cstdint>

#include "ceilings/cpu_bytes_probes.h"

namespace dlroof {
namespace {

constexpr std::size_t kVector = 4, kUnrolled = 16, kStep = kVector * kUnrolled;  // [float]

__attribute__((target("sse2"))) void Load(Workspace& workspace, std::int64_t iterations) {
  Walk walk(workspace, kStep);
  for (; iterations > 0; --iterations) {
    const float* from = walk.In(0);
    for (std::size_t i = 0; i < kUnrolled; ++i) {
      const __m128 value = _mm_load_ps(from + kVector * i);
      asm volatile("" : : "x"(value));  // used: a load without a use is deleted
    }
    walk.Step();
  }
  walk.Keep(workspace);
}

__attribute__((target("sse2"))) void Copy(Workspace& workspace, std::int64_t iterations) {
  Walk walk(workspace, kStep);
  for (; iterations > 0; --iterations) {
    float* to = walk.In(0);
    const float* from = walk.In(1);
    for (std::size_t i = 0; i < kUnrolled; ++i) {
      __m128 value = _mm_load_ps(from + kVector * i);
      asm volatile("" : "+x"(value));  // opaque: not to become a call of memcpy
      _mm_store_ps(to + kVector * i, value);
    }
    walk.Step();
  }
  walk.Keep(workspace);
}

__attribute__((target("sse2"))) void Triad(Workspace& workspace, std::int64_t iterations) {
  Walk walk(workspace, kStep);
  __m128 scale = _mm_set1_ps(3.0F);
  asm volatile("" : "+x"(scale));
  for (; iterations > 0; --iterations) {
    float* to = walk.In(0);
    const float* from = walk.In(1);
    const float* scaled = walk.In(2);
    for (std::size_t i = 0; i < kUnrolled; ++i) {
      __m128 value = _mm_add_ps(_mm_mul_ps(scale, _mm_load_ps(scaled + kVector * i)),
                                _mm_load_ps(from + kVector * i));
      _mm_store_ps(to + kVector * i, value);
    }
    walk.Step();
  }
  walk.Keep(workspace);
}

__attribute__((target("sse2"))) void StreamingCopy(Workspace& workspace, std::int64_t iterations) {
  Walk walk(workspace, kStep);
  for (; iterations > 0; --iterations) {
    float* to = walk.In(0);
    const float* from = walk.In(1);
    for (std::size_t i = 0; i < kUnrolled; ++i) {
      __m128 value = _mm_load_ps(from + kVector * i);
      asm volatile("" : "+x"(value));  // opaque: not to become a call of memcpy
      _mm_stream_ps(to + kVector * i, value);
    }
    walk.Step();
  }
  walk.Keep(workspace);
  _mm_sfence();
}

__attribute__((target("sse2"))) void StreamingTriad(Workspace& workspace, std::int64_t iterations) {
  Walk walk(workspace, kStep);
  __m128 scale = _mm_set1_ps(3.0F);
  asm volatile("" : "+x"(scale));
  for (; iterations > 0; --iterations) {
    float* to = walk.In(0);
    const float* from = walk.In(1);
    const float* scaled = walk.In(2);
    for (std::size_t i = 0; i < kUnrolled; ++i) {
      __m128 value = _mm_add_ps(_mm_mul_ps(scale, _mm_load_ps(scaled + kVector * i)),
                                _mm_load_ps(from + kVector * i));
      _mm_stream_ps(to + kVector * i, value);
    }
    walk.Step();
  }
  walk.Keep(workspace);
  _mm_sfence();
}

}  // namespace

BytesIsa BytesSse2() {
  return {"sse2", {"sse2"}, kStep, Load, Copy, Triad, StreamingCopy, StreamingTriad};
}

}  // namespace dlroof
