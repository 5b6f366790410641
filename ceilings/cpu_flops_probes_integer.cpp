// int8: u8 times s8, summed into s32: one dot-product instruction where there is VNNI, else three
// instructions as libraries used them before. int32: low halves of products, summed. 2 flop
// (operations) per product. Accumulators have the type of their lanes: as __m512i, gcc 12 copies
// each of them twice per iteration (2.5 x slower).
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "ceilings/cpu_flops_probes.h"

namespace dlroof {
namespace {

// The chain of the three-instruction form is one addition (1 cycle); more accumulators would spill.
// That of int32 is 11 cycles long on Intel's cores: 14 accumulators.
constexpr int kChains = 8, kFew = 14, kMany = 16;

// SSE overwrites an operand of each product, so a step is 4 instructions with the copy: as many as
// older cores take in a cycle. What the loop itself needs must then be rare.
constexpr int kSsse3Sweeps = 4;

// In assembler: the compiler would interleave the sweeps and run out of registers.
__attribute__((target("ssse3"))) void Ssse3(Workspace& workspace, std::int64_t iterations) {
  typedef std::int32_t Vector __attribute__((vector_size(16)));
  Vector x, y, a[kChains];
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  const __m128i ones = _mm_set1_epi16(1);
  auto* memory = workspace.accumulators.data();
  for (int i = 0; i < kChains; ++i) std::memcpy(&a[i], memory + sizeof x * i, sizeof x);
  for (; iterations > 0; --iterations)
    for (int sweep = 0; sweep < kSsse3Sweeps; ++sweep)
      for (auto& each : a) {
        Vector next = each, product;
        asm("movdqa %2, %1\n\tpmaddubsw %3, %1\n\tpmaddwd %4, %1\n\tpaddd %1, %0"
            : "+&x"(next), "=&x"(product)
            : "x"(x), "x"(y), "x"(ones));
        each = next;
      }
  for (int i = 0; i < kChains; ++i) std::memcpy(memory + sizeof x * i, &a[i], sizeof x);
}

__attribute__((target("avx2"))) void Avx2(Workspace& workspace, std::int64_t iterations) {
  const auto* operands = reinterpret_cast<const char*>(workspace.operands.data());
  __m256i x = _mm256_load_si256(reinterpret_cast<const __m256i*>(operands + kFirstOperand));
  const __m256i y = _mm256_load_si256(reinterpret_cast<const __m256i*>(operands + kSecondOperand));
  const __m256i ones = _mm256_set1_epi16(1);
  auto* memory = reinterpret_cast<__m256i*>(workspace.accumulators.data());
  __v8si a[kChains];
  for (int i = 0; i < kChains; ++i) a[i] = reinterpret_cast<__v8si>(_mm256_load_si256(memory + i));
  for (; iterations > 0; --iterations)
    for (auto& each : a) {
      asm volatile("" : "+x"(x));  // else the product would be computed once for all
      const auto pairs = _mm256_maddubs_epi16(x, y);
      each = reinterpret_cast<__v8si>(
          _mm256_add_epi32(reinterpret_cast<__m256i>(each), _mm256_madd_epi16(pairs, ones)));
    }
  for (int i = 0; i < kChains; ++i) _mm256_store_si256(memory + i, reinterpret_cast<__m256i>(a[i]));
}

__attribute__((target("avx512bw"))) void Avx512(Workspace& workspace, std::int64_t iterations) {
  const auto* operands = reinterpret_cast<const char*>(workspace.operands.data());
  __m512i x = _mm512_load_si512(reinterpret_cast<const __m512i*>(operands + kFirstOperand));
  const __m512i y = _mm512_load_si512(reinterpret_cast<const __m512i*>(operands + kSecondOperand));
  const __m512i ones = _mm512_set1_epi16(1);
  auto* memory = reinterpret_cast<__m512i*>(workspace.accumulators.data());
  __v16si a[kChains];
  for (int i = 0; i < kChains; ++i) a[i] = reinterpret_cast<__v16si>(_mm512_load_si512(memory + i));
  for (; iterations > 0; --iterations)
    for (auto& each : a) {
      asm volatile("" : "+v"(x));  // else the product would be computed once for all
      const auto pairs = _mm512_maddubs_epi16(x, y);
      each = reinterpret_cast<__v16si>(
          _mm512_add_epi32(reinterpret_cast<__m512i>(each), _mm512_madd_epi16(pairs, ones)));
    }
  for (int i = 0; i < kChains; ++i) _mm512_store_si512(memory + i, reinterpret_cast<__m512i>(a[i]));
}

__attribute__((target("avx2,avxvnni"))) void AvxVnni(Workspace& workspace,
                                                     std::int64_t iterations) {
  const auto* operands = reinterpret_cast<const char*>(workspace.operands.data());
  const __m256i x = _mm256_load_si256(reinterpret_cast<const __m256i*>(operands + kFirstOperand));
  const __m256i y = _mm256_load_si256(reinterpret_cast<const __m256i*>(operands + kSecondOperand));
  auto* memory = reinterpret_cast<__m256i*>(workspace.accumulators.data());
  __v8si a[kFew];
  for (int i = 0; i < kFew; ++i) a[i] = reinterpret_cast<__v8si>(_mm256_load_si256(memory + i));
  for (; iterations > 0; --iterations)
    for (auto& each : a)
      each =
          reinterpret_cast<__v8si>(_mm256_dpbusd_avx_epi32(reinterpret_cast<__m256i>(each), x, y));
  for (int i = 0; i < kFew; ++i) _mm256_store_si256(memory + i, reinterpret_cast<__m256i>(a[i]));
}

__attribute__((target("avx512vnni,avx512vl"))) void Avx512VnniYmm(Workspace& workspace,
                                                                  std::int64_t iterations) {
  const auto* operands = reinterpret_cast<const char*>(workspace.operands.data());
  const __m256i x = _mm256_load_si256(reinterpret_cast<const __m256i*>(operands + kFirstOperand));
  const __m256i y = _mm256_load_si256(reinterpret_cast<const __m256i*>(operands + kSecondOperand));
  auto* memory = reinterpret_cast<__m256i*>(workspace.accumulators.data());
  __v8si a[kMany];
  for (int i = 0; i < kMany; ++i) a[i] = reinterpret_cast<__v8si>(_mm256_load_si256(memory + i));
  for (; iterations > 0; --iterations)
    for (auto& each : a)
      each = reinterpret_cast<__v8si>(_mm256_dpbusd_epi32(reinterpret_cast<__m256i>(each), x, y));
  for (int i = 0; i < kMany; ++i) _mm256_store_si256(memory + i, reinterpret_cast<__m256i>(a[i]));
}

__attribute__((target("avx512f,avx512vnni"))) void Avx512Vnni(Workspace& workspace,
                                                              std::int64_t iterations) {
  const auto* operands = reinterpret_cast<const char*>(workspace.operands.data());
  const __m512i x = _mm512_load_si512(reinterpret_cast<const __m512i*>(operands + kFirstOperand));
  const __m512i y = _mm512_load_si512(reinterpret_cast<const __m512i*>(operands + kSecondOperand));
  auto* memory = reinterpret_cast<__m512i*>(workspace.accumulators.data());
  __v16si a[kMany];
  for (int i = 0; i < kMany; ++i) a[i] = reinterpret_cast<__v16si>(_mm512_load_si512(memory + i));
  for (; iterations > 0; --iterations)
    for (auto& each : a)
      each = reinterpret_cast<__v16si>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(each), x, y));
  for (int i = 0; i < kMany; ++i) _mm512_store_si512(memory + i, reinterpret_cast<__m512i>(a[i]));
}

// Unsigned: the low half of a product is the same, and its overflow is defined.
__attribute__((target("sse4.1"))) void Int32Sse41(Workspace& workspace, std::int64_t iterations) {
  typedef std::uint32_t Vector __attribute__((vector_size(16)));
  Vector x, y, a[kFew];
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  auto* memory = workspace.accumulators.data();
  for (int i = 0; i < kFew; ++i) std::memcpy(&a[i], memory + sizeof x * i, sizeof x);
  for (; iterations > 0; --iterations)
    for (auto& each : a) each = each * x + y;
  for (int i = 0; i < kFew; ++i) std::memcpy(memory + sizeof x * i, &a[i], sizeof x);
}

__attribute__((target("avx2"))) void Int32Avx2(Workspace& workspace, std::int64_t iterations) {
  typedef std::uint32_t Vector __attribute__((vector_size(32)));
  Vector x, y, a[kFew];
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  auto* memory = workspace.accumulators.data();
  for (int i = 0; i < kFew; ++i) std::memcpy(&a[i], memory + sizeof x * i, sizeof x);
  for (; iterations > 0; --iterations)
    for (auto& each : a) each = each * x + y;
  for (int i = 0; i < kFew; ++i) std::memcpy(memory + sizeof x * i, &a[i], sizeof x);
}

__attribute__((target("avx512f"))) void Int32Avx512(Workspace& workspace, std::int64_t iterations) {
  typedef std::uint32_t Vector __attribute__((vector_size(64)));
  Vector x, y, a[kMany];
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  auto* memory = workspace.accumulators.data();
  for (int i = 0; i < kMany; ++i) std::memcpy(&a[i], memory + sizeof x * i, sizeof x);
  for (; iterations > 0; --iterations)
    for (auto& each : a) each = each * x + y;
  for (int i = 0; i < kMany; ++i) std::memcpy(memory + sizeof x * i, &a[i], sizeof x);
}

}  // namespace

std::vector<FlopsProbe> IntegerVectorProbes() {
  constexpr auto kInt8 = Operands::kInt8, kInt32 = Operands::kInt32;
  constexpr auto kDot = Recurrence::kDot, kMultiplyAdd = Recurrence::kMultiplyAdd;
  constexpr auto kOne = Issue::kOne, kTwo = Issue::kTwo, kThree = Issue::kThree;
  return {
      {"int8.vector.ssse3", "pmaddubsw + pmaddwd + paddd", kInt8, kDot, kThree, 16, kChains,
       kSsse3Sweeps, Ssse3},
      {"int8.vector.avx2", "vpmaddubsw + vpmaddwd + vpaddd ymm", kInt8, kDot, kThree, 32, kChains,
       1, Avx2},
      {"int8.vector.avx512", "vpmaddubsw + vpmaddwd + vpaddd zmm", kInt8, kDot, kThree, 64, kChains,
       1, Avx512},
      {"int8.vector.avx_vnni", "vpdpbusd ymm", kInt8, kDot, kOne, 32, kFew, 1, AvxVnni},
      {"int8.vector.avx512_vnni_ymm", "vpdpbusd ymm", kInt8, kDot, kOne, 32, kMany, 1,
       Avx512VnniYmm},
      {"int8.vector.avx512_vnni", "vpdpbusd zmm", kInt8, kDot, kOne, 64, kMany, 1, Avx512Vnni},
      {"int32.vector.sse41", "pmulld + paddd", kInt32, kMultiplyAdd, kTwo, 16, kFew, 1, Int32Sse41},
      {"int32.vector.avx2", "vpmulld + vpaddd ymm", kInt32, kMultiplyAdd, kTwo, 32, kFew, 1,
       Int32Avx2},
      {"int32.vector.avx512", "vpmulld + vpaddd zmm", kInt32, kMultiplyAdd, kTwo, 64, kMany, 1,
       Int32Avx512},
  };
}

}  // namespace dlroof
