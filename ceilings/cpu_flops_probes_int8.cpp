// u8 times s8, summed into s32: one dot-product instruction where there is VNNI, else three
// instructions as libraries used them before. 2 flop (operations) per product. Accumulators have
// the type of their lanes: as __m512i, gcc 12 copies each of them twice per iteration (2.5 x
// slower).
#include <immintrin.h>

#include <cstdint>

#include "ceilings/cpu_flops_probes.h"

namespace dlroof {
namespace {

// The chain of the three-instruction form is one addition (1 cycle); more accumulators would spill.
constexpr std::size_t kChains = 8, kFew = 12, kMany = 16;

__attribute__((target("ssse3"))) void Ssse3(Workspace& workspace, std::int64_t iterations) {
  const auto* operands = reinterpret_cast<const char*>(workspace.operands.data());
  __m128i x = _mm_load_si128(reinterpret_cast<const __m128i*>(operands + kFirstOperand));
  const __m128i y = _mm_load_si128(reinterpret_cast<const __m128i*>(operands + kSecondOperand));
  const __m128i ones = _mm_set1_epi16(1);
  auto* memory = reinterpret_cast<__m128i*>(workspace.accumulators.data());
  __v4si a[kChains];
  for (std::size_t i = 0; i < kChains; ++i)
    a[i] = reinterpret_cast<__v4si>(_mm_load_si128(memory + i));
  for (; iterations > 0; --iterations)
    for (auto& each : a) {
      asm volatile("" : "+x"(x));  // else the product would be computed once for all
      const auto pairs = _mm_maddubs_epi16(x, y);
      each = reinterpret_cast<__v4si>(
          _mm_add_epi32(reinterpret_cast<__m128i>(each), _mm_madd_epi16(pairs, ones)));
    }
  for (std::size_t i = 0; i < kChains; ++i)
    _mm_store_si128(memory + i, reinterpret_cast<__m128i>(a[i]));
}

__attribute__((target("avx2"))) void Avx2(Workspace& workspace, std::int64_t iterations) {
  const auto* operands = reinterpret_cast<const char*>(workspace.operands.data());
  __m256i x = _mm256_load_si256(reinterpret_cast<const __m256i*>(operands + kFirstOperand));
  const __m256i y = _mm256_load_si256(reinterpret_cast<const __m256i*>(operands + kSecondOperand));
  const __m256i ones = _mm256_set1_epi16(1);
  auto* memory = reinterpret_cast<__m256i*>(workspace.accumulators.data());
  __v8si a[kChains];
  for (std::size_t i = 0; i < kChains; ++i)
    a[i] = reinterpret_cast<__v8si>(_mm256_load_si256(memory + i));
  for (; iterations > 0; --iterations)
    for (auto& each : a) {
      asm volatile("" : "+x"(x));  // else the product would be computed once for all
      const auto pairs = _mm256_maddubs_epi16(x, y);
      each = reinterpret_cast<__v8si>(
          _mm256_add_epi32(reinterpret_cast<__m256i>(each), _mm256_madd_epi16(pairs, ones)));
    }
  for (std::size_t i = 0; i < kChains; ++i)
    _mm256_store_si256(memory + i, reinterpret_cast<__m256i>(a[i]));
}

__attribute__((target("avx512bw"))) void Avx512(Workspace& workspace, std::int64_t iterations) {
  const auto* operands = reinterpret_cast<const char*>(workspace.operands.data());
  __m512i x = _mm512_load_si512(reinterpret_cast<const __m512i*>(operands + kFirstOperand));
  const __m512i y = _mm512_load_si512(reinterpret_cast<const __m512i*>(operands + kSecondOperand));
  const __m512i ones = _mm512_set1_epi16(1);
  auto* memory = reinterpret_cast<__m512i*>(workspace.accumulators.data());
  __v16si a[kChains];
  for (std::size_t i = 0; i < kChains; ++i)
    a[i] = reinterpret_cast<__v16si>(_mm512_load_si512(memory + i));
  for (; iterations > 0; --iterations)
    for (auto& each : a) {
      asm volatile("" : "+v"(x));  // else the product would be computed once for all
      const auto pairs = _mm512_maddubs_epi16(x, y);
      each = reinterpret_cast<__v16si>(
          _mm512_add_epi32(reinterpret_cast<__m512i>(each), _mm512_madd_epi16(pairs, ones)));
    }
  for (std::size_t i = 0; i < kChains; ++i)
    _mm512_store_si512(memory + i, reinterpret_cast<__m512i>(a[i]));
}

__attribute__((target("avx2,avxvnni"))) void AvxVnni(Workspace& workspace,
                                                     std::int64_t iterations) {
  const auto* operands = reinterpret_cast<const char*>(workspace.operands.data());
  const __m256i x = _mm256_load_si256(reinterpret_cast<const __m256i*>(operands + kFirstOperand));
  const __m256i y = _mm256_load_si256(reinterpret_cast<const __m256i*>(operands + kSecondOperand));
  auto* memory = reinterpret_cast<__m256i*>(workspace.accumulators.data());
  __v8si a[kFew];
  for (std::size_t i = 0; i < kFew; ++i)
    a[i] = reinterpret_cast<__v8si>(_mm256_load_si256(memory + i));
  for (; iterations > 0; --iterations)
    for (auto& each : a)
      each =
          reinterpret_cast<__v8si>(_mm256_dpbusd_avx_epi32(reinterpret_cast<__m256i>(each), x, y));
  for (std::size_t i = 0; i < kFew; ++i)
    _mm256_store_si256(memory + i, reinterpret_cast<__m256i>(a[i]));
}

__attribute__((target("avx512vnni,avx512vl"))) void Avx512VnniYmm(Workspace& workspace,
                                                                  std::int64_t iterations) {
  const auto* operands = reinterpret_cast<const char*>(workspace.operands.data());
  const __m256i x = _mm256_load_si256(reinterpret_cast<const __m256i*>(operands + kFirstOperand));
  const __m256i y = _mm256_load_si256(reinterpret_cast<const __m256i*>(operands + kSecondOperand));
  auto* memory = reinterpret_cast<__m256i*>(workspace.accumulators.data());
  __v8si a[kMany];
  for (std::size_t i = 0; i < kMany; ++i)
    a[i] = reinterpret_cast<__v8si>(_mm256_load_si256(memory + i));
  for (; iterations > 0; --iterations)
    for (auto& each : a)
      each = reinterpret_cast<__v8si>(_mm256_dpbusd_epi32(reinterpret_cast<__m256i>(each), x, y));
  for (std::size_t i = 0; i < kMany; ++i)
    _mm256_store_si256(memory + i, reinterpret_cast<__m256i>(a[i]));
}

__attribute__((target("avx512f,avx512vnni"))) void Avx512Vnni(Workspace& workspace,
                                                              std::int64_t iterations) {
  const auto* operands = reinterpret_cast<const char*>(workspace.operands.data());
  const __m512i x = _mm512_load_si512(reinterpret_cast<const __m512i*>(operands + kFirstOperand));
  const __m512i y = _mm512_load_si512(reinterpret_cast<const __m512i*>(operands + kSecondOperand));
  auto* memory = reinterpret_cast<__m512i*>(workspace.accumulators.data());
  __v16si a[kMany];
  for (std::size_t i = 0; i < kMany; ++i)
    a[i] = reinterpret_cast<__v16si>(_mm512_load_si512(memory + i));
  for (; iterations > 0; --iterations)
    for (auto& each : a)
      each = reinterpret_cast<__v16si>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(each), x, y));
  for (std::size_t i = 0; i < kMany; ++i)
    _mm512_store_si512(memory + i, reinterpret_cast<__m512i>(a[i]));
}

}  // namespace

std::vector<FlopsProbe> Int8VectorProbes() {
  return {
      {"int8.vector.ssse3",
       {"ssse3"},
       2.0 * 16 * kChains,
       Operands::kInt8,
       Ssse3,
       "ssse3 pmaddubsw + pmaddwd + paddd, 8 accumulators"},
      {"int8.vector.avx2",
       {"avx2"},
       2.0 * 32 * kChains,
       Operands::kInt8,
       Avx2,
       "avx2 vpmaddubsw + vpmaddwd + vpaddd ymm, 8 accumulators"},
      {"int8.vector.avx512",
       {"avx512bw"},
       2.0 * 64 * kChains,
       Operands::kInt8,
       Avx512,
       "avx512bw vpmaddubsw + vpmaddwd + vpaddd zmm, 8 accumulators"},
      {"int8.vector.avx_vnni",
       {"avx_vnni", "avx2"},
       2.0 * 32 * kFew,
       Operands::kInt8,
       AvxVnni,
       "avx_vnni vpdpbusd ymm, 12 accumulators"},
      {"int8.vector.avx512_vnni_ymm",
       {"avx512_vnni", "avx512vl"},
       2.0 * 32 * kMany,
       Operands::kInt8,
       Avx512VnniYmm,
       "avx512_vnni vpdpbusd ymm, 16 accumulators"},
      {"int8.vector.avx512_vnni",
       {"avx512_vnni"},
       2.0 * 64 * kMany,
       Operands::kInt8,
       Avx512Vnni,
       "avx512_vnni vpdpbusd zmm, 16 accumulators"},
  };
}

}  // namespace dlroof
