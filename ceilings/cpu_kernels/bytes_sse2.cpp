// Memory kernels with SSE2 vectors. The build enables SSE2 for this file only.
#include <immintrin.h>

#include "ceilings/cpu_kernels/bytes_kernels.h"

namespace dlroof::cpu_kernels {
namespace {

struct Sse2 {
  using Vector = __m128;
  static constexpr std::size_t kFloats = 4, kAccumulators = 12;

  [[gnu::always_inline]] static Vector Load(const float* from) { return _mm_load_ps(from); }
  [[gnu::always_inline]] static void Store(float* to, Vector value) { _mm_storeu_ps(to, value); }
  [[gnu::always_inline]] static void Stream(float* to, Vector value) { _mm_stream_ps(to, value); }
  [[gnu::always_inline]] static void EndStream() { _mm_sfence(); }
  [[gnu::always_inline]] static Vector Same(float value) { return _mm_set1_ps(value); }
  [[gnu::always_inline]] static Vector Xor(Vector a, Vector b) { return _mm_xor_ps(a, b); }
  [[gnu::always_inline]] static Vector MultiplyAdd(Vector a, Vector b, Vector c) {
    return _mm_add_ps(_mm_mul_ps(a, b), c);
  }
  [[gnu::always_inline]] static void Opaque(Vector& value) { asm volatile("" : "+x"(value)); }
};

}  // namespace

const BytesIsa& BytesSse2() {
  static constexpr BytesIsa kKernels = KernelsOf<Sse2>("sse2", nullptr, nullptr);
  return kKernels;
}

}  // namespace dlroof::cpu_kernels
