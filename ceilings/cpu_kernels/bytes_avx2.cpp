// Memory kernels with AVX2 vectors. The build enables AVX2 for this file only.
#include <immintrin.h>

#include "ceilings/cpu_kernels/bytes_kernels.h"

namespace dlroof::cpu_kernels {
namespace {

struct Avx2 {
  using Vector = __m256;
  static constexpr std::size_t kFloats = 8, kAccumulators = 12;

  [[gnu::always_inline]] static Vector Load(const float* from) { return _mm256_load_ps(from); }
  [[gnu::always_inline]] static void Store(float* to, Vector value) { _mm256_storeu_ps(to, value); }
  [[gnu::always_inline]] static void Stream(float* to, Vector value) {
    _mm256_stream_ps(to, value);
  }
  [[gnu::always_inline]] static void EndStream() { _mm_sfence(); }
  [[gnu::always_inline]] static Vector Same(float value) { return _mm256_set1_ps(value); }
  [[gnu::always_inline]] static Vector Xor(Vector a, Vector b) { return _mm256_xor_ps(a, b); }
  [[gnu::always_inline]] static Vector MultiplyAdd(Vector a, Vector b, Vector c) {
    return _mm256_fmadd_ps(a, b, c);
  }
  [[gnu::always_inline]] static void Opaque(Vector& value) { asm volatile("" : "+x"(value)); }
};

}  // namespace

const BytesIsa& BytesAvx2() {
  static constexpr BytesIsa kKernels = KernelsOf<Avx2>("avx2", "avx2", "fma");
  return kKernels;
}

}  // namespace dlroof::cpu_kernels
