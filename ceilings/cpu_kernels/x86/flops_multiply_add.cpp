// a = a * x + y with an instruction each for product and sum, on independent accumulators: 14 of 16
// registers, 16 of AVX-512's 32, for a latency of 8 cycles in fp32 and 11 in int32, or of 6 where a
// core starts two pairs a cycle (Zen 5). A core that gives an instruction its port when it enters,
// as Intel's do, loses up to 18 % when a sum follows its own product; so sums lag behind products
// by several accumulators. In assembler, which keeps this order. AVX512-FP16 on a type that every
// compiler has: older ones know no __m512h.
#include <cstdint>
#include <cstring>

#include "ceilings/cpu_kernels/flops.h"

namespace dlroof {
namespace {

constexpr int kFew = 14, kMany = 16;
// Products that a sum lags behind: at least the latency of a product, and what is left at least
// that of a sum, in steps. With 12 accumulators on Cascade Lake, in fp32 a lag of 6 gave 1.00 steps
// a cycle and of 10 0.94; in int32 6 gave 0.85 and 10 gave 1.00. On Zen 5, 12 are just as many as
// are under way, and come in step by chance only; of 14 in int32 a lag of 12 gave 1.99 steps, one
// of 8 to 11 half of that.
constexpr int kFewLag = 7, kFewIntegerLag = 12, kManyLag = 12;

typedef double Fp64Xmm __attribute__((vector_size(16)));
typedef double Fp64Ymm __attribute__((vector_size(32)));
typedef double Fp64Zmm __attribute__((vector_size(64)));
typedef float Fp32Xmm __attribute__((vector_size(16)));
typedef float Fp32Ymm __attribute__((vector_size(32)));
typedef float Fp32Zmm __attribute__((vector_size(64)));
typedef std::int32_t Int32Xmm __attribute__((vector_size(16)));
typedef std::int32_t Int32Ymm __attribute__((vector_size(32)));
typedef std::int32_t Int32Zmm __attribute__((vector_size(64)));

// Operations on one accumulator, which is copied: in an array it would be stored each time.
struct Fp64Scalar {
  using Vector = double;
  static constexpr int kLag = kFewLag;
  __attribute__((always_inline)) static void Multiply(Vector& a, const Vector& x) {
    Vector next = a;
    asm volatile("mulsd %1, %0" : "+x"(next) : "x"(x));
    a = next;
  }
  __attribute__((always_inline)) static void Add(Vector& a, const Vector& y) {
    Vector next = a;
    asm volatile("addsd %1, %0" : "+x"(next) : "x"(y));
    a = next;
  }
};

struct Fp32Scalar {
  using Vector = float;
  static constexpr int kLag = kFewLag;
  __attribute__((always_inline)) static void Multiply(Vector& a, const Vector& x) {
    Vector next = a;
    asm volatile("mulss %1, %0" : "+x"(next) : "x"(x));
    a = next;
  }
  __attribute__((always_inline)) static void Add(Vector& a, const Vector& y) {
    Vector next = a;
    asm volatile("addss %1, %0" : "+x"(next) : "x"(y));
    a = next;
  }
};

struct Fp64Sse2 {
  using Vector = Fp64Xmm;
  static constexpr int kLag = kFewLag;
  __attribute__((always_inline)) static void Multiply(Vector& a, const Vector& x) {
    Vector next = a;
    asm volatile("mulpd %1, %0" : "+x"(next) : "x"(x));
    a = next;
  }
  __attribute__((always_inline)) static void Add(Vector& a, const Vector& y) {
    Vector next = a;
    asm volatile("addpd %1, %0" : "+x"(next) : "x"(y));
    a = next;
  }
};

struct Fp32Sse2 {
  using Vector = Fp32Xmm;
  static constexpr int kLag = kFewLag;
  __attribute__((always_inline)) static void Multiply(Vector& a, const Vector& x) {
    Vector next = a;
    asm volatile("mulps %1, %0" : "+x"(next) : "x"(x));
    a = next;
  }
  __attribute__((always_inline)) static void Add(Vector& a, const Vector& y) {
    Vector next = a;
    asm volatile("addps %1, %0" : "+x"(next) : "x"(y));
    a = next;
  }
};

struct Int32Sse41 {
  using Vector = Int32Xmm;
  static constexpr int kLag = kFewIntegerLag;
  __attribute__((always_inline)) static void Multiply(Vector& a, const Vector& x) {
    Vector next = a;
    asm volatile("pmulld %1, %0" : "+x"(next) : "x"(x));
    a = next;
  }
  __attribute__((always_inline)) static void Add(Vector& a, const Vector& y) {
    Vector next = a;
    asm volatile("paddd %1, %0" : "+x"(next) : "x"(y));
    a = next;
  }
};

struct Fp64Avx {
  using Vector = Fp64Ymm;
  static constexpr int kLag = kFewLag;
  __attribute__((target("avx"), always_inline)) static void Multiply(Vector& a, const Vector& x) {
    Vector next = a;
    asm volatile("vmulpd %1, %0, %0" : "+x"(next) : "x"(x));
    a = next;
  }
  __attribute__((target("avx"), always_inline)) static void Add(Vector& a, const Vector& y) {
    Vector next = a;
    asm volatile("vaddpd %1, %0, %0" : "+x"(next) : "x"(y));
    a = next;
  }
};

struct Fp32Avx {
  using Vector = Fp32Ymm;
  static constexpr int kLag = kFewLag;
  __attribute__((target("avx"), always_inline)) static void Multiply(Vector& a, const Vector& x) {
    Vector next = a;
    asm volatile("vmulps %1, %0, %0" : "+x"(next) : "x"(x));
    a = next;
  }
  __attribute__((target("avx"), always_inline)) static void Add(Vector& a, const Vector& y) {
    Vector next = a;
    asm volatile("vaddps %1, %0, %0" : "+x"(next) : "x"(y));
    a = next;
  }
};

struct Int32Avx2 {
  using Vector = Int32Ymm;
  static constexpr int kLag = kFewIntegerLag;
  __attribute__((target("avx"), always_inline)) static void Multiply(Vector& a, const Vector& x) {
    Vector next = a;
    asm volatile("vpmulld %1, %0, %0" : "+x"(next) : "x"(x));
    a = next;
  }
  __attribute__((target("avx"), always_inline)) static void Add(Vector& a, const Vector& y) {
    Vector next = a;
    asm volatile("vpaddd %1, %0, %0" : "+x"(next) : "x"(y));
    a = next;
  }
};

struct Fp64Avx512 {
  using Vector = Fp64Zmm;
  static constexpr int kLag = kManyLag;
  __attribute__((target("avx512f"), always_inline)) static void Multiply(Vector& a,
                                                                         const Vector& x) {
    Vector next = a;
    asm volatile("vmulpd %1, %0, %0" : "+v"(next) : "v"(x));
    a = next;
  }
  __attribute__((target("avx512f"), always_inline)) static void Add(Vector& a, const Vector& y) {
    Vector next = a;
    asm volatile("vaddpd %1, %0, %0" : "+v"(next) : "v"(y));
    a = next;
  }
};

struct Fp32Avx512 {
  using Vector = Fp32Zmm;
  static constexpr int kLag = kManyLag;
  __attribute__((target("avx512f"), always_inline)) static void Multiply(Vector& a,
                                                                         const Vector& x) {
    Vector next = a;
    asm volatile("vmulps %1, %0, %0" : "+v"(next) : "v"(x));
    a = next;
  }
  __attribute__((target("avx512f"), always_inline)) static void Add(Vector& a, const Vector& y) {
    Vector next = a;
    asm volatile("vaddps %1, %0, %0" : "+v"(next) : "v"(y));
    a = next;
  }
};

struct Int32Avx512 {
  using Vector = Int32Zmm;
  static constexpr int kLag = kManyLag;
  __attribute__((target("avx512f"), always_inline)) static void Multiply(Vector& a,
                                                                         const Vector& x) {
    Vector next = a;
    asm volatile("vpmulld %1, %0, %0" : "+v"(next) : "v"(x));
    a = next;
  }
  __attribute__((target("avx512f"), always_inline)) static void Add(Vector& a, const Vector& y) {
    Vector next = a;
    asm volatile("vpaddd %1, %0, %0" : "+v"(next) : "v"(y));
    a = next;
  }
};

struct Fp16Avx512 {
  using Vector = Fp32Zmm;
  static constexpr int kLag = kManyLag;
  __attribute__((target("avx512f"), always_inline)) static void Multiply(Vector& a,
                                                                         const Vector& x) {
    Vector next = a;
    asm volatile("vmulph %1, %0, %0" : "+v"(next) : "v"(x));
    a = next;
  }
  __attribute__((target("avx512f"), always_inline)) static void Add(Vector& a, const Vector& y) {
    Vector next = a;
    asm volatile("vaddph %1, %0, %0" : "+v"(next) : "v"(y));
    a = next;
  }
};

// Three times the same, as a template cannot have its target as a parameter. The last kLag
// accumulators begin each iteration multiplied already; the last iteration does not begin another.
template <class Op>
void RunXmm(Workspace& workspace, std::int64_t iterations) {
  typename Op::Vector x, y, a[kFew];
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  auto* memory = workspace.accumulators.data();
  for (int k = 0; k < kFew; ++k) std::memcpy(&a[k], memory + sizeof x * k, sizeof x);
  for (int k = kFew - Op::kLag; k < kFew && iterations > 0; ++k) Op::Multiply(a[k], x);
  for (auto left = iterations - 1; left > 0; --left)
    for (int k = 0; k < kFew; ++k) {
      Op::Multiply(a[k], x);
      Op::Add(a[(k + kFew - Op::kLag) % kFew], y);
    }
  for (int k = 0; k < kFew && iterations > 0; ++k) {
    if (k < kFew - Op::kLag) Op::Multiply(a[k], x);
    Op::Add(a[(k + kFew - Op::kLag) % kFew], y);
  }
  for (int k = 0; k < kFew; ++k) std::memcpy(memory + sizeof x * k, &a[k], sizeof x);
}

template <class Op>
__attribute__((target("avx"))) void RunYmm(Workspace& workspace, std::int64_t iterations) {
  typename Op::Vector x, y, a[kFew];
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  auto* memory = workspace.accumulators.data();
  for (int k = 0; k < kFew; ++k) std::memcpy(&a[k], memory + sizeof x * k, sizeof x);
  for (int k = kFew - Op::kLag; k < kFew && iterations > 0; ++k) Op::Multiply(a[k], x);
  for (auto left = iterations - 1; left > 0; --left)
    for (int k = 0; k < kFew; ++k) {
      Op::Multiply(a[k], x);
      Op::Add(a[(k + kFew - Op::kLag) % kFew], y);
    }
  for (int k = 0; k < kFew && iterations > 0; ++k) {
    if (k < kFew - Op::kLag) Op::Multiply(a[k], x);
    Op::Add(a[(k + kFew - Op::kLag) % kFew], y);
  }
  for (int k = 0; k < kFew; ++k) std::memcpy(memory + sizeof x * k, &a[k], sizeof x);
}

template <class Op>
__attribute__((target("avx512f"))) void RunZmm(Workspace& workspace, std::int64_t iterations) {
  typename Op::Vector x, y, a[kMany];
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  auto* memory = workspace.accumulators.data();
  for (int k = 0; k < kMany; ++k) std::memcpy(&a[k], memory + sizeof x * k, sizeof x);
  for (int k = kMany - Op::kLag; k < kMany && iterations > 0; ++k) Op::Multiply(a[k], x);
  for (auto left = iterations - 1; left > 0; --left)
    for (int k = 0; k < kMany; ++k) {
      Op::Multiply(a[k], x);
      Op::Add(a[(k + kMany - Op::kLag) % kMany], y);
    }
  for (int k = 0; k < kMany && iterations > 0; ++k) {
    if (k < kMany - Op::kLag) Op::Multiply(a[k], x);
    Op::Add(a[(k + kMany - Op::kLag) % kMany], y);
  }
  for (int k = 0; k < kMany; ++k) std::memcpy(memory + sizeof x * k, &a[k], sizeof x);
}

FlopsProbe Row(const char* key, const char* instructions, Operands operands, std::size_t bytes,
               int accumulators, Kernel kernel) {
  return {key, instructions, operands, Recurrence::kMultiplyAdd, Issue::kTwo, bytes, accumulators,
          1,   kernel};
}

}  // namespace

std::vector<FlopsProbe> MultiplyAddProbes() {
  constexpr auto kFp64 = Operands::kFp64, kFp32 = Operands::kFp32, kFp16 = Operands::kFp16;
  constexpr auto kInt32 = Operands::kInt32;
  return {
      Row("fp64.vector.sse2_scalar", "mulsd + addsd", kFp64, 8, kFew, RunXmm<Fp64Scalar>),
      Row("fp64.vector.sse2", "mulpd + addpd", kFp64, 16, kFew, RunXmm<Fp64Sse2>),
      Row("fp64.vector.avx", "vmulpd + vaddpd ymm", kFp64, 32, kFew, RunYmm<Fp64Avx>),
      Row("fp64.vector.avx512_nofma", "vmulpd + vaddpd zmm", kFp64, 64, kMany, RunZmm<Fp64Avx512>),
      Row("fp32.vector.sse2_scalar", "mulss + addss", kFp32, 4, kFew, RunXmm<Fp32Scalar>),
      Row("fp32.vector.sse2", "mulps + addps", kFp32, 16, kFew, RunXmm<Fp32Sse2>),
      Row("fp32.vector.avx", "vmulps + vaddps ymm", kFp32, 32, kFew, RunYmm<Fp32Avx>),
      Row("fp32.vector.avx512_nofma", "vmulps + vaddps zmm", kFp32, 64, kMany, RunZmm<Fp32Avx512>),
      Row("fp16.vector.avx512_fp16_nofma", "vmulph + vaddph zmm", kFp16, 64, kMany,
          RunZmm<Fp16Avx512>),
      Row("int32.vector.sse41", "pmulld + paddd", kInt32, 16, kFew, RunXmm<Int32Sse41>),
      Row("int32.vector.avx2", "vpmulld + vpaddd ymm", kInt32, 32, kFew, RunYmm<Int32Avx2>),
      Row("int32.vector.avx512", "vpmulld + vpaddd zmm", kInt32, 64, kMany, RunZmm<Int32Avx512>),
  };
}

}  // namespace dlroof
