// int8: u8 times s8, summed in s32, by one dot-product instruction with VNNI, otherwise by the
// three instructions that libraries used before VNNI. A product counts 2 flop (operations).
// Accumulators have the type of their lanes, because gcc 12 copies each __m512i twice per iteration
// (2.5 x slower).
#include <immintrin.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "ceilings/cpu_kernels/flops.h"

namespace dlroof::cpu_kernels {
namespace {

// Without VNNI the dependent chain is one addition (1 cycle).
constexpr int kChains = 8, kFew = 14, kMany = 16;

// kProducts products are in flight. A step multiplies, sums pairs of the product that was begun
// kPairLag steps earlier, and adds the one that was begun kAddLag steps earlier. The values were
// found by trials: cores that assign ports when an instruction enters do 0.977 steps per cycle in
// this order and 0.88 in plain order. A step fills most of the issue slots of older cores (SSE
// needs a copy as a fourth instruction), so the loop is unrolled to have little overhead.
constexpr int kProducts = 10, kPairLag = 6, kAddLag = 9;
constexpr int kSums = 2, kSweeps = 20, kSteps = kSums * kSweeps;

template <std::size_t kCount>
constexpr std::array<std::int16_t, kCount> AllOnes() {
  std::array<std::int16_t, kCount> ones{};
  ones.fill(1);
  return ones;
}

// The three instructions. They have no target attribute: they are inlined into functions that do.
struct TripleSse {
  typedef std::int32_t Vector __attribute__((vector_size(16)));
  [[gnu::always_inline]] static void Multiply(Vector& product, const Vector& x, const Vector& y) {
    asm volatile("movdqa %1, %0\n\tpmaddubsw %2, %0" : "=&x"(product) : "x"(x), "x"(y));
  }
  [[gnu::always_inline]] static void SumPairs(Vector& product, const Vector& ones) {
    asm volatile("pmaddwd %1, %0" : "+x"(product) : "x"(ones));
  }
  [[gnu::always_inline]] static void Add(Vector& sum, const Vector& product) {
    asm volatile("paddd %1, %0" : "+x"(sum) : "x"(product));
  }
};

struct TripleAvx2 {
  typedef std::int32_t Vector __attribute__((vector_size(32)));
  [[gnu::always_inline]] static void Multiply(Vector& product, const Vector& x, const Vector& y) {
    asm volatile("vpmaddubsw %2, %1, %0" : "=x"(product) : "x"(x), "x"(y));
  }
  [[gnu::always_inline]] static void SumPairs(Vector& product, const Vector& ones) {
    asm volatile("vpmaddwd %1, %0, %0" : "+x"(product) : "x"(ones));
  }
  [[gnu::always_inline]] static void Add(Vector& sum, const Vector& product) {
    asm volatile("vpaddd %1, %0, %0\n\tnop" : "+x"(sum) : "x"(product));
  }
};

// Products begin as zeros; those in flight at the end are summed after the loop. Operations work on
// a copy, because the array itself would be stored each time.
template <class Op>
[[gnu::always_inline]] inline void Triple(Workspace& workspace, std::int64_t iterations) {
  typename Op::Vector x, y, ones, a[kSums], products[kProducts] = {};
  const auto sum_pairs = [&](int k) __attribute__((always_inline)) {
    auto next = products[k % kProducts];
    Op::SumPairs(next, ones);
    products[k % kProducts] = next;
  };
  const auto add = [&](int k) __attribute__((always_inline)) {
    auto next = a[k % kSums];
    Op::Add(next, products[k % kProducts]);
    a[k % kSums] = next;
  };
  // Does steps `first` to `first` + 9, which use each product once.
  const auto round = [&](int first) __attribute__((always_inline)) {
    for (int k = first; k < first + kProducts; ++k) {
      typename Op::Vector next;
      Op::Multiply(next, x, y);
      products[k % kProducts] = next;
      sum_pairs(k + kProducts - kPairLag);
      add(k + kProducts - kAddLag);
    }
  };
  constexpr std::array<std::int16_t, sizeof x / 2> kOnes = AllOnes<sizeof x / 2>();
  std::memcpy(&ones, kOnes.data(), sizeof x);
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  for (int i = 0; i < kSums; ++i)
    std::memcpy(&a[i], workspace.accumulators.data() + sizeof x * i, sizeof x);
  for (; iterations > 0; --iterations) {
    round(0);
    round(kProducts);
    round(2 * kProducts);
    round(3 * kProducts);
  }
  for (int k = kSteps - kPairLag; k < kSteps; ++k) sum_pairs(k);
  for (int k = kSteps - kAddLag; k < kSteps; ++k) add(k);
  for (int i = 0; i < kSums; ++i)
    std::memcpy(workspace.accumulators.data() + sizeof x * i, &a[i], sizeof x);
}

void Ssse3(Workspace& workspace, std::int64_t iterations) {
  Triple<TripleSse>(workspace, iterations);
}

__attribute__((target("avx2"))) void Avx2(Workspace& workspace, std::int64_t iterations) {
  Triple<TripleAvx2>(workspace, iterations);
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
      asm volatile("" : "+v"(x));  // otherwise the product is computed only once
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

}  // namespace

std::vector<FlopsProbe> Int8VectorProbes() {
  constexpr auto kInt8 = Operands::kInt8;
  constexpr auto kDot = Recurrence::kDot;
  constexpr auto kOne = Issue::kOne, kThree = Issue::kThree;
  return {
      {"int8.vector.ssse3", "pmaddubsw + pmaddwd + paddd", kInt8, kDot, kThree, 16, kSums, kSweeps,
       Ssse3},
      {"int8.vector.avx2", "vpmaddubsw + vpmaddwd + vpaddd ymm", kInt8, kDot, kThree, 32, kSums,
       kSweeps, Avx2},
      {"int8.vector.avx512", "vpmaddubsw + vpmaddwd + vpaddd zmm", kInt8, kDot, kThree, 64, kChains,
       1, Avx512},
      {"int8.vector.avx_vnni", "vpdpbusd ymm", kInt8, kDot, kOne, 32, kFew, 1, AvxVnni},
      {"int8.vector.avx512_vnni_ymm", "vpdpbusd ymm", kInt8, kDot, kOne, 32, kMany, 1,
       Avx512VnniYmm},
      {"int8.vector.avx512_vnni", "vpdpbusd zmm", kInt8, kDot, kOne, 64, kMany, 1, Avx512Vnni},
  };
}

}  // namespace dlroof::cpu_kernels
