// Kernels that compute a = a * x + y by separate multiply and add instructions on independent
// accumulators: 14 with 16 registers, 16 with AVX-512's 32. They cover a latency of 8 cycles, or of
// 6 on a core that starts two pairs per cycle (Zen 5). Cores that assign an execution port when an
// instruction enters (Intel) lose up to 18 % if an add directly follows its own multiply, so each
// add lags behind its multiply by several accumulators. Assembler fixes this order. AVX512-FP16
// uses a float vector, because older compilers do not know __m512h.
#include <cstdint>
#include <cstring>

#include "ceilings/cpu_kernels/chain.h"
#include "ceilings/cpu_kernels/flops.h"

namespace dlroof::cpu_kernels {
namespace {

constexpr int kFew = 14, kMany = 16;
// Lag: number of multiplies between a multiply and its add. It must cover the latency of a
// multiply, and the remaining accumulators the latency of an add. Cascade Lake, 12 accumulators:
// lag 6 gave 1.00 steps per cycle, lag 10 gave 0.94. Zen 5 has 12 pairs in flight, so that 12
// accumulators reach its rate only by chance.
constexpr int kFewLag = 7, kManyLag = 12;

typedef double Fp64Xmm __attribute__((vector_size(16)));
typedef double Fp64Ymm __attribute__((vector_size(32)));
typedef double Fp64Zmm __attribute__((vector_size(64)));
typedef float Fp32Xmm __attribute__((vector_size(16)));
typedef float Fp32Ymm __attribute__((vector_size(32)));
typedef float Fp32Zmm __attribute__((vector_size(64)));

// Multiply and Add on one accumulator; `in` is the asm constraint of the registers. They have the
// target attribute of the kernel, because clang checks vector operands of inline assembler per
// function. They are not always_inline, because clang would then require the attribute of Run too;
// kernel_code_test.cpp checks that they are inlined anyway.
// NOLINTBEGIN(bugprone-macro-parentheses): asm and declarations take none
#define DLROOF_OPERATIONS(name, isa, Type, accumulators, lagging, in, multiply, add) \
  struct name {                                                                      \
    using Vector = Type;                                                             \
    static constexpr int kCount = accumulators, kLag = lagging;                      \
    __attribute__((target(isa))) static void Multiply(Vector& a, const Vector& x) {  \
      asm volatile(multiply : "+" in(a) : in(x));                                    \
    }                                                                                \
    __attribute__((target(isa))) static void Add(Vector& a, const Vector& y) {       \
      asm volatile(add : "+" in(a) : in(y));                                         \
    }                                                                                \
  }
// NOLINTEND(bugprone-macro-parentheses)
DLROOF_OPERATIONS(Fp64Sse2, "sse2", Fp64Xmm, kFew, kFewLag, "x", "mulpd %1, %0", "addpd %1, %0");
DLROOF_OPERATIONS(Fp32Sse2, "sse2", Fp32Xmm, kFew, kFewLag, "x", "mulps %1, %0", "addps %1, %0");
DLROOF_OPERATIONS(Fp64Avx, "avx", Fp64Ymm, kFew, kFewLag, "x", "vmulpd %1, %0, %0",
                  "vaddpd %1, %0, %0");
DLROOF_OPERATIONS(Fp32Avx, "avx", Fp32Ymm, kFew, kFewLag, "x", "vmulps %1, %0, %0",
                  "vaddps %1, %0, %0");
DLROOF_OPERATIONS(Fp64Avx512, "avx512f", Fp64Zmm, kMany, kManyLag, "v", "vmulpd %1, %0, %0",
                  "vaddpd %1, %0, %0");
DLROOF_OPERATIONS(Fp32Avx512, "avx512f", Fp32Zmm, kMany, kManyLag, "v", "vmulps %1, %0, %0",
                  "vaddps %1, %0, %0");
DLROOF_OPERATIONS(Fp16Avx512, "avx512f", Fp32Zmm, kMany, kManyLag, "v", "vmulph %1, %0, %0",
                  "vaddph %1, %0, %0");
#undef DLROOF_OPERATIONS

// Executes a = a * x + y on kCount accumulators per iteration. When an iteration starts, the last
// kLag accumulators have already been multiplied; the last iteration multiplies none in advance.
// Instructions work on copies, because the compiler would store array elements to memory each time.
template <class Op, int kChain>
[[gnu::always_inline]] inline void Run(Workspace& workspace, std::int64_t iterations) {
  constexpr int kCount = Op::kCount, kBegun = kCount - Op::kLag;
  unsigned chain = 3;
  typename Op::Vector x, y, a[kCount];
  const auto multiply = [&](int k) __attribute__((always_inline)) {
    auto next = a[k];
    Op::Multiply(next, x);
    a[k] = next;
  };
  const auto add = [&](int k) __attribute__((always_inline)) {
    auto next = a[(k + kBegun) % kCount];
    Op::Add(next, y);
    a[(k + kBegun) % kCount] = next;
  };
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  auto* memory = workspace.accumulators.data();
  for (int k = 0; k < kCount; ++k) std::memcpy(&a[k], memory + sizeof x * k, sizeof x);
  for (int k = kBegun; k < kCount && iterations > 0; ++k) multiply(k);
  for (auto left = iterations - 1; left > 0; --left) {
    for (int k = 0; k < kCount; ++k) {
      multiply(k);
      add(k);
    }
    MultiplyBeside<kChain>(chain);
  }
  for (int k = 0; k < kCount && iterations > 0; ++k) {
    if (k < kBegun) multiply(k);
    add(k);
  }
  for (int k = 0; k < kCount; ++k) std::memcpy(memory + sizeof x * k, &a[k], sizeof x);
}

// One function per target, because a target attribute cannot be a template parameter.
template <class Op, int kChain>
void RunXmm(Workspace& workspace, std::int64_t iterations) {
  Run<Op, kChain>(workspace, iterations);
}

template <class Op, int kChain>
__attribute__((target("avx"))) void RunYmm(Workspace& workspace, std::int64_t iterations) {
  Run<Op, kChain>(workspace, iterations);
}

template <class Op, int kChain>
__attribute__((target("avx512f"))) void RunZmm(Workspace& workspace, std::int64_t iterations) {
  Run<Op, kChain>(workspace, iterations);
}

FlopsProbe Row(const char* key, const char* instructions, Operands operands, std::size_t bytes,
               int accumulators, const auto& make) {
  return WithKernels(
      {key, instructions, operands, Recurrence::kMultiplyAdd, Issue::kTwo, bytes, accumulators},
      make);
}

// Functions that return the kernel with a chain of the given length.
template <class Op>
constexpr auto kXmm = []<int kChain>() -> Kernel { return RunXmm<Op, kChain>; };
template <class Op>
constexpr auto kYmm = []<int kChain>() -> Kernel { return RunYmm<Op, kChain>; };
template <class Op>
constexpr auto kZmm = []<int kChain>() -> Kernel { return RunZmm<Op, kChain>; };

}  // namespace

std::vector<FlopsProbe> MultiplyAddProbes() {
  constexpr auto kFp64 = Operands::kFp64, kFp32 = Operands::kFp32, kFp16 = Operands::kFp16;
  return {
      Row("fp64.vector.sse2", "mulpd + addpd", kFp64, 16, kFew, kXmm<Fp64Sse2>),
      Row("fp64.vector.avx", "vmulpd + vaddpd ymm", kFp64, 32, kFew, kYmm<Fp64Avx>),
      Row("fp64.vector.avx512_nofma", "vmulpd + vaddpd zmm", kFp64, 64, kMany, kZmm<Fp64Avx512>),
      Row("fp32.vector.sse2", "mulps + addps", kFp32, 16, kFew, kXmm<Fp32Sse2>),
      Row("fp32.vector.avx", "vmulps + vaddps ymm", kFp32, 32, kFew, kYmm<Fp32Avx>),
      Row("fp32.vector.avx512_nofma", "vmulps + vaddps zmm", kFp32, 64, kMany, kZmm<Fp32Avx512>),
      Row("fp16.vector.avx512_fp16_nofma", "vmulph + vaddph zmm", kFp16, 64, kMany,
          kZmm<Fp16Avx512>),
  };
}

}  // namespace dlroof::cpu_kernels
