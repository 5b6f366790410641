// Kernels of int8 dot products (u8 x s8, s32 sums) by three instructions, for CPUs without VNNI.
#include <immintrin.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "ceilings/cpu_kernels/chain.h"
#include "ceilings/cpu_kernels/flops.h"

namespace dlroof::cpu_kernels {
namespace {

// Accumulators of the AVX-512 kernel: few, because only the addition (1 cycle) depends on them.
constexpr int kChains = 8;

// Software pipeline: step k does the multiply of product k, the pair sum of product k - kPairLag,
// and the addition of product k - kAddLag to an accumulator. The lags were found by trial: 0.977
// steps per cycle on Cascade Lake, against 0.88 without lags. An iteration has kSteps steps,
// because a step fills most issue slots of older cores and leaves few for the loop.
constexpr int kProducts = 10, kPairLag = 6, kAddLag = 9;
constexpr int kSums = 2, kSweeps = 20, kSteps = kSums * kSweeps;

// The three instructions of a step, inlined into functions with a target attribute.
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

// The functions have the kernel's target attribute, because clang checks vector operands of inline
// assembler per function. They are not always_inline, because clang would then require the
// attribute of Triple too; kernel_code_test.cpp checks that they are inlined anyway.
struct TripleAvx2 {
  typedef std::int32_t Vector __attribute__((vector_size(32)));
  __attribute__((target("avx2"))) static void Multiply(Vector& product, const Vector& x,
                                                       const Vector& y) {
    asm volatile("vpmaddubsw %2, %1, %0" : "=x"(product) : "x"(x), "x"(y));
  }
  __attribute__((target("avx2"))) static void SumPairs(Vector& product, const Vector& ones) {
    asm volatile("vpmaddwd %1, %0, %0" : "+x"(product) : "x"(ones));
  }
  __attribute__((target("avx2"))) static void Add(Vector& sum, const Vector& product) {
    asm volatile("vpaddd %1, %0, %0\n\tnop" : "+x"(sum) : "x"(product));
  }
};

// Executes kSteps pipelined steps per iteration. Products in flight begin as 0; the last ones are
// added after the loop. Instructions work on copies of array elements, because the compiler would
// store the elements to memory each time.
template <class Op, int kChain>
[[gnu::always_inline]] inline void Triple(Workspace& workspace, std::int64_t iterations) {
  unsigned chain = 3;
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
  const auto step = [&](int k) __attribute__((always_inline)) {
    typename Op::Vector next;
    Op::Multiply(next, x, y);
    products[k % kProducts] = next;
    sum_pairs(k + kProducts - kPairLag);
    add(k + kProducts - kAddLag);
  };
  // A fold expression, not a loop: clang 14 would not unroll it and keep the products in memory.
  const auto steps = [&]<int... k>(std::integer_sequence<int, k...>)
      __attribute__((always_inline)) {
    (step(k), ...);
  };
  ones = typename Op::Vector{} + 0x00010001;  // 16-bit ones
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  for (int i = 0; i < kSums; ++i)
    std::memcpy(&a[i], workspace.accumulators.data() + sizeof x * i, sizeof x);
  for (; iterations > 0; --iterations) {
    steps(std::make_integer_sequence<int, kSteps>());
    MultiplyBeside<kChain>(chain);
  }
  for (int k = kSteps - kPairLag; k < kSteps; ++k) sum_pairs(k);
  for (int k = kSteps - kAddLag; k < kSteps; ++k) add(k);
  for (int i = 0; i < kSums; ++i)
    std::memcpy(workspace.accumulators.data() + sizeof x * i, &a[i], sizeof x);
}

template <int kChain>
void Ssse3(Workspace& workspace, std::int64_t iterations) {
  Triple<TripleSse, kChain>(workspace, iterations);
}

template <int kChain>
__attribute__((target("avx2"))) void Avx2(Workspace& workspace, std::int64_t iterations) {
  Triple<TripleAvx2, kChain>(workspace, iterations);
}

// Vectors have 32-bit elements, because gcc 12 copies each __m512i twice (see flops_single.cpp).
template <int kChain>
__attribute__((target("avx512bw"))) void Avx512(Workspace& workspace, std::int64_t iterations) {
  RunSteps<__v16si, kChains, kChain>(
      workspace, iterations,
      [](__v16si & a, __v16si & x, const __v16si& y) __attribute__((target("avx512bw"))) {
        asm volatile("" : "+v"(x));  // otherwise the compiler computes the product only once
        const auto pairs = _mm512_maddubs_epi16(__m512i(x), __m512i(y));
        a = __v16si(_mm512_add_epi32(__m512i(a), _mm512_madd_epi16(pairs, _mm512_set1_epi16(1))));
      });
}

}  // namespace

std::vector<FlopsProbe> Int8TripleProbes() {
  constexpr auto kInt8 = Operands::kInt8;
  constexpr auto kDot = Recurrence::kDot;
  constexpr auto kThree = Issue::kThree;
  constexpr ChainLengths<15, 20, 30, 60> kStepChains;  // an iteration has kSteps steps
  return {
      WithKernels(
          {"int8.vector.ssse3", "pmaddubsw + pmaddwd + paddd", kInt8, kDot, kThree, 16, kSums,
           kSweeps},
          []<int kChain>() -> Kernel { return Ssse3<kChain>; }, kStepChains),
      WithKernels(
          {"int8.vector.avx2", "vpmaddubsw + vpmaddwd + vpaddd ymm", kInt8, kDot, kThree, 32, kSums,
           kSweeps},
          []<int kChain>() -> Kernel { return Avx2<kChain>; }, kStepChains),
      WithKernels({"int8.vector.avx512", "vpmaddubsw + vpmaddwd + vpaddd zmm", kInt8, kDot, kThree,
                   64, kChains},
                  []<int kChain>() -> Kernel { return Avx512<kChain>; }),
  };
}

}  // namespace dlroof::cpu_kernels
