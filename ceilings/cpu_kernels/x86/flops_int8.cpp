// int8: u8 times s8, summed into s32: one dot-product instruction where there is VNNI, else three
// instructions as libraries used them before. 2 flop (operations) per product. Accumulators have
// the type of their lanes: as __m512i, gcc 12 copies each of them twice per iteration (2.5 x
// slower).
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "ceilings/cpu_kernels/flops.h"

namespace dlroof {
namespace {

// The chain of the three-instruction form is one addition (1 cycle).
constexpr int kChains = 8, kFew = 14, kMany = 16;

// Products in flight; a step multiplies, sums pairs of the product begun kPairLag steps before, and
// adds the one begun kAddLag steps before. Found by trying: cores that give an instruction its port
// when it enters do 0.88 steps a cycle in plain order, 0.977 so. The fourth instruction, a copy in
// SSE and nothing in AVX, fills what older cores take in a cycle; what the loop itself needs must
// then be rare.
constexpr int kProducts = 10, kPairLag = 6, kAddLag = 9;
constexpr int kSums = 2, kSweeps = 20, kSteps = kSums * kSweeps;

struct TripleSse {
  typedef std::int32_t Vector __attribute__((vector_size(16)));
  __attribute__((always_inline)) static void Multiply(Vector& product, const Vector& x,
                                                      const Vector& y) {
    Vector next;
    asm volatile("movdqa %1, %0\n\tpmaddubsw %2, %0" : "=&x"(next) : "x"(x), "x"(y));
    product = next;
  }
  __attribute__((always_inline)) static void SumPairs(Vector& product, const Vector& ones) {
    Vector next = product;
    asm volatile("pmaddwd %1, %0" : "+x"(next) : "x"(ones));
    product = next;
  }
  __attribute__((always_inline)) static void Add(Vector& sum, const Vector& product) {
    Vector next = sum;
    asm volatile("paddd %1, %0" : "+x"(next) : "x"(product));
    sum = next;
  }
  // Steps `first` to `first` + 9: each product once.
  __attribute__((always_inline)) static void Round(int first, const Vector& x, const Vector& y,
                                                   const Vector& ones, Vector* products,
                                                   Vector* sums) {
    for (int i = 0; i < kProducts; ++i) {
      const int k = first + i;
      Multiply(products[k % kProducts], x, y);
      SumPairs(products[(k + kProducts - kPairLag) % kProducts], ones);
      Add(sums[(k + kProducts - kAddLag) % kSums], products[(k + kProducts - kAddLag) % kProducts]);
    }
  }
};

struct TripleAvx2 {
  typedef std::int32_t Vector __attribute__((vector_size(32)));
  __attribute__((target("avx2"), always_inline)) static void Multiply(Vector& product,
                                                                      const Vector& x,
                                                                      const Vector& y) {
    Vector next;
    asm volatile("vpmaddubsw %2, %1, %0" : "=x"(next) : "x"(x), "x"(y));
    product = next;
  }
  __attribute__((target("avx2"), always_inline)) static void SumPairs(Vector& product,
                                                                      const Vector& ones) {
    Vector next = product;
    asm volatile("vpmaddwd %1, %0, %0" : "+x"(next) : "x"(ones));
    product = next;
  }
  __attribute__((target("avx2"), always_inline)) static void Add(Vector& sum,
                                                                 const Vector& product) {
    Vector next = sum;
    asm volatile("vpaddd %1, %0, %0\n\tnop" : "+x"(next) : "x"(product));
    sum = next;
  }
  // Steps `first` to `first` + 9: each product once.
  __attribute__((target("avx2"), always_inline)) static void Round(int first, const Vector& x,
                                                                   const Vector& y,
                                                                   const Vector& ones,
                                                                   Vector* products, Vector* sums) {
    for (int i = 0; i < kProducts; ++i) {
      const int k = first + i;
      Multiply(products[k % kProducts], x, y);
      SumPairs(products[(k + kProducts - kPairLag) % kProducts], ones);
      Add(sums[(k + kProducts - kAddLag) % kSums], products[(k + kProducts - kAddLag) % kProducts]);
    }
  }
};

// The same twice, as a template cannot have its target as a parameter. Products begin as zeros, and
// those in flight at the end are summed after the loop.
void Ssse3(Workspace& workspace, std::int64_t iterations) {
  using Op = TripleSse;
  Op::Vector x, y, a[kSums], products[kProducts] = {};
  const Op::Vector ones = Op::Vector{} + 0x00010001;  // as 16-bit elements
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  for (int i = 0; i < kSums; ++i)
    std::memcpy(&a[i], workspace.accumulators.data() + sizeof x * i, sizeof x);
  for (; iterations > 0; --iterations) {
    Op::Round(0, x, y, ones, products, a);
    Op::Round(kProducts, x, y, ones, products, a);
    Op::Round(2 * kProducts, x, y, ones, products, a);
    Op::Round(3 * kProducts, x, y, ones, products, a);
  }
  for (int k = kSteps - kPairLag; k < kSteps; ++k) Op::SumPairs(products[k % kProducts], ones);
  for (int k = kSteps - kAddLag; k < kSteps; ++k) Op::Add(a[k % kSums], products[k % kProducts]);
  for (int i = 0; i < kSums; ++i)
    std::memcpy(workspace.accumulators.data() + sizeof x * i, &a[i], sizeof x);
}

__attribute__((target("avx2"))) void Avx2(Workspace& workspace, std::int64_t iterations) {
  using Op = TripleAvx2;
  Op::Vector x, y, a[kSums], products[kProducts] = {};
  const Op::Vector ones = Op::Vector{} + 0x00010001;
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  for (int i = 0; i < kSums; ++i)
    std::memcpy(&a[i], workspace.accumulators.data() + sizeof x * i, sizeof x);
  for (; iterations > 0; --iterations) {
    Op::Round(0, x, y, ones, products, a);
    Op::Round(kProducts, x, y, ones, products, a);
    Op::Round(2 * kProducts, x, y, ones, products, a);
    Op::Round(3 * kProducts, x, y, ones, products, a);
  }
  for (int k = kSteps - kPairLag; k < kSteps; ++k) Op::SumPairs(products[k % kProducts], ones);
  for (int k = kSteps - kAddLag; k < kSteps; ++k) Op::Add(a[k % kSums], products[k % kProducts]);
  for (int i = 0; i < kSums; ++i)
    std::memcpy(workspace.accumulators.data() + sizeof x * i, &a[i], sizeof x);
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

}  // namespace dlroof
