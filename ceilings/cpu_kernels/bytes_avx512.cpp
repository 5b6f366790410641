// Memory kernels with AVX-512 vectors. The build enables AVX-512 for this file only.
#include <immintrin.h>

#include "ceilings/cpu_kernels/bytes_kernels.h"

namespace dlroof::cpu_kernels {
namespace {

struct Avx512 {
  using Vector = __m512;
  static constexpr std::size_t kFloats = 16, kAccumulators = 16;

  [[gnu::always_inline]] static Vector Load(const float* from) { return _mm512_load_ps(from); }
  [[gnu::always_inline]] static void Store(float* to, Vector value) { _mm512_storeu_ps(to, value); }
  [[gnu::always_inline]] static void Stream(float* to, Vector value) {
    _mm512_stream_ps(to, value);
  }
  [[gnu::always_inline]] static void EndStream() { _mm_sfence(); }
  [[gnu::always_inline]] static Vector Same(float value) { return _mm512_set1_ps(value); }
  [[gnu::always_inline]] static Vector Xor(Vector a, Vector b) {
    return _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(a), _mm512_castps_si512(b)));
  }
  [[gnu::always_inline]] static Vector MultiplyAdd(Vector a, Vector b, Vector c) {
    return _mm512_fmadd_ps(a, b, c);
  }
  [[gnu::always_inline]] static void Opaque(Vector& value) { asm volatile("" : "+v"(value)); }
};

}  // namespace

const BytesIsa& BytesAvx512() {
  static constexpr BytesIsa kKernels = KernelsOf<Avx512>("avx512", "avx512f", nullptr);
  return kKernels;
}

}  // namespace dlroof::cpu_kernels
