// a = a * x + y on independent accumulators: 12 of 16 registers cover SSE2's latency of multiply
// and add (4 + 4 cycles, 2 per cycle) and AVX2's (4, 2 per cycle); AVX-512 has 32 registers, 16 are
// used.
#include <immintrin.h>

#include <cstdint>

#include "ceilings/cpu_flops_probes.h"

namespace dlroof {
namespace {

constexpr std::size_t kFew = 12, kMany = 16;

template <class T>
T* Accumulators(Workspace& workspace) {
  return reinterpret_cast<T*>(workspace.accumulators.data());
}

template <class T>
const T* Operand(const Workspace& workspace, std::size_t offset) {
  return reinterpret_cast<const T*>(workspace.operands.data() + offset);
}

__attribute__((target("sse2"))) void Fp64Sse2(Workspace& workspace, std::int64_t iterations) {
  const __m128d x = _mm_load_pd(Operand<double>(workspace, kFirstOperand));
  const __m128d y = _mm_load_pd(Operand<double>(workspace, kSecondOperand));
  auto* memory = Accumulators<double>(workspace);
  __m128d a[kFew];
  for (std::size_t i = 0; i < kFew; ++i) a[i] = _mm_load_pd(memory + 2 * i);
  for (; iterations > 0; --iterations)
    for (auto& each : a) each = _mm_add_pd(_mm_mul_pd(each, x), y);
  for (std::size_t i = 0; i < kFew; ++i) _mm_store_pd(memory + 2 * i, a[i]);
}

__attribute__((target("avx2,fma"))) void Fp64Avx2(Workspace& workspace, std::int64_t iterations) {
  const __m256d x = _mm256_load_pd(Operand<double>(workspace, kFirstOperand));
  const __m256d y = _mm256_load_pd(Operand<double>(workspace, kSecondOperand));
  auto* memory = Accumulators<double>(workspace);
  __m256d a[kFew];
  for (std::size_t i = 0; i < kFew; ++i) a[i] = _mm256_load_pd(memory + 4 * i);
  for (; iterations > 0; --iterations)
    for (auto& each : a) each = _mm256_fmadd_pd(each, x, y);
  for (std::size_t i = 0; i < kFew; ++i) _mm256_store_pd(memory + 4 * i, a[i]);
}

__attribute__((target("avx512f"))) void Fp64Avx512(Workspace& workspace, std::int64_t iterations) {
  const __m512d x = _mm512_load_pd(Operand<double>(workspace, kFirstOperand));
  const __m512d y = _mm512_load_pd(Operand<double>(workspace, kSecondOperand));
  auto* memory = Accumulators<double>(workspace);
  __m512d a[kMany];
  for (std::size_t i = 0; i < kMany; ++i) a[i] = _mm512_load_pd(memory + 8 * i);
  for (; iterations > 0; --iterations)
    for (auto& each : a) each = _mm512_fmadd_pd(each, x, y);
  for (std::size_t i = 0; i < kMany; ++i) _mm512_store_pd(memory + 8 * i, a[i]);
}

__attribute__((target("sse2"))) void Fp32Sse2(Workspace& workspace, std::int64_t iterations) {
  const __m128 x = _mm_load_ps(Operand<float>(workspace, kFirstOperand));
  const __m128 y = _mm_load_ps(Operand<float>(workspace, kSecondOperand));
  auto* memory = Accumulators<float>(workspace);
  __m128 a[kFew];
  for (std::size_t i = 0; i < kFew; ++i) a[i] = _mm_load_ps(memory + 4 * i);
  for (; iterations > 0; --iterations)
    for (auto& each : a) each = _mm_add_ps(_mm_mul_ps(each, x), y);
  for (std::size_t i = 0; i < kFew; ++i) _mm_store_ps(memory + 4 * i, a[i]);
}

__attribute__((target("avx2,fma"))) void Fp32Avx2(Workspace& workspace, std::int64_t iterations) {
  const __m256 x = _mm256_load_ps(Operand<float>(workspace, kFirstOperand));
  const __m256 y = _mm256_load_ps(Operand<float>(workspace, kSecondOperand));
  auto* memory = Accumulators<float>(workspace);
  __m256 a[kFew];
  for (std::size_t i = 0; i < kFew; ++i) a[i] = _mm256_load_ps(memory + 8 * i);
  for (; iterations > 0; --iterations)
    for (auto& each : a) each = _mm256_fmadd_ps(each, x, y);
  for (std::size_t i = 0; i < kFew; ++i) _mm256_store_ps(memory + 8 * i, a[i]);
}

__attribute__((target("avx512f"))) void Fp32Avx512(Workspace& workspace, std::int64_t iterations) {
  const __m512 x = _mm512_load_ps(Operand<float>(workspace, kFirstOperand));
  const __m512 y = _mm512_load_ps(Operand<float>(workspace, kSecondOperand));
  auto* memory = Accumulators<float>(workspace);
  __m512 a[kMany];
  for (std::size_t i = 0; i < kMany; ++i) a[i] = _mm512_load_ps(memory + 16 * i);
  for (; iterations > 0; --iterations)
    for (auto& each : a) each = _mm512_fmadd_ps(each, x, y);
  for (std::size_t i = 0; i < kMany; ++i) _mm512_store_ps(memory + 16 * i, a[i]);
}

// In assembler, on a type that every compiler has: older ones know no __m512h.
__attribute__((target("avx512f"))) void Fp16Avx512(Workspace& workspace, std::int64_t iterations) {
  const __m512 x = _mm512_load_ps(Operand<float>(workspace, kFirstOperand));
  const __m512 y = _mm512_load_ps(Operand<float>(workspace, kSecondOperand));
  auto* memory = Accumulators<float>(workspace);
  __m512 a[kMany];
  for (std::size_t i = 0; i < kMany; ++i) a[i] = _mm512_load_ps(memory + 16 * i);
  for (; iterations > 0; --iterations)
    for (auto& each : a) {
      __m512 next = each;  // a copy: an operand in the array would be stored each time
      asm("vfmadd213ph %2, %1, %0" : "+v"(next) : "v"(x), "v"(y));
      each = next;
    }
  for (std::size_t i = 0; i < kMany; ++i) _mm512_store_ps(memory + 16 * i, a[i]);
}

std::vector<FlopsProbe> Fp64Probes() {
  return {
      {"fp64.vector.sse2",
       {"sse2"},
       2.0 * 2 * kFew,
       Operands::kFp64,
       Fp64Sse2,
       "sse2 mulpd + addpd, 12 accumulators"},
      {"fp64.vector.avx2",
       {"avx2", "fma"},
       2.0 * 4 * kFew,
       Operands::kFp64,
       Fp64Avx2,
       "avx2 vfmaddpd ymm, 12 accumulators"},
      {"fp64.vector.avx512",
       {"avx512f"},
       2.0 * 8 * kMany,
       Operands::kFp64,
       Fp64Avx512,
       "avx512 vfmaddpd zmm, 16 accumulators"},
  };
}

std::vector<FlopsProbe> Fp32Probes() {
  return {
      {"fp32.vector.sse2",
       {"sse2"},
       2.0 * 4 * kFew,
       Operands::kFp32,
       Fp32Sse2,
       "sse2 mulps + addps, 12 accumulators"},
      {"fp32.vector.avx2",
       {"avx2", "fma"},
       2.0 * 8 * kFew,
       Operands::kFp32,
       Fp32Avx2,
       "avx2 vfmaddps ymm, 12 accumulators"},
      {"fp32.vector.avx512",
       {"avx512f"},
       2.0 * 16 * kMany,
       Operands::kFp32,
       Fp32Avx512,
       "avx512 vfmaddps zmm, 16 accumulators"},
  };
}

std::vector<FlopsProbe> Fp16Probes() {
  return {
      {"fp16.vector.avx512_fp16",
       {"avx512_fp16"},
       2.0 * 32 * kMany,
       Operands::kFp16,
       Fp16Avx512,
       "avx512_fp16 vfmaddph zmm, 16 accumulators"},
  };
}

}  // namespace

std::vector<FlopsProbe> FloatVectorProbes() {
  std::vector<FlopsProbe> all;
  for (const auto& table : {Fp64Probes(), Fp32Probes(), Fp16Probes()})
    all.insert(all.end(), table.begin(), table.end());
  return all;
}

}  // namespace dlroof
