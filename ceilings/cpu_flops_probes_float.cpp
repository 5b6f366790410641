// a = a * x + y in fp64 and fp32 on independent accumulators. 14 of 16 registers cover a multiply
// and an addition in sequence (8 cycles where one such pair fits into a cycle, 6 where two do) and
// fused ones (4 or 5, two per cycle). AVX-512 has 32 registers; 16 are used. -ffp-contract=off
// keeps multiply and add apart.
#include <immintrin.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ceilings/cpu_flops_probes.h"

namespace dlroof {
namespace {

constexpr int kFew = 14, kMany = 16;

// In assembler: the compiler would make vectors of single elements.
template <class T>
__attribute__((target("sse2"))) void ScalarSse2(Workspace& workspace, std::int64_t iterations) {
  T x, y, a[kFew];
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  auto* memory = workspace.accumulators.data();
  for (int i = 0; i < kFew; ++i) std::memcpy(&a[i], memory + sizeof(T) * i, sizeof(T));
  for (; iterations > 0; --iterations)
    for (auto& each : a) {
      T next = each;  // a copy: an operand in the array would be stored each time
      if constexpr (std::is_same_v<T, double>)
        asm("mulsd %1, %0\n\taddsd %2, %0" : "+&x"(next) : "x"(x), "x"(y));
      else
        asm("mulss %1, %0\n\taddss %2, %0" : "+&x"(next) : "x"(x), "x"(y));
      each = next;
    }
  for (int i = 0; i < kFew; ++i) std::memcpy(memory + sizeof(T) * i, &a[i], sizeof(T));
}

template <class T>
__attribute__((target("fma"))) void ScalarFma(Workspace& workspace, std::int64_t iterations) {
  T x, y, a[kFew];
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  auto* memory = workspace.accumulators.data();
  for (int i = 0; i < kFew; ++i) std::memcpy(&a[i], memory + sizeof(T) * i, sizeof(T));
  for (; iterations > 0; --iterations)
    for (auto& each : a) {
      T next = each;
      if constexpr (std::is_same_v<T, double>)
        asm("vfmadd213sd %2, %1, %0" : "+x"(next) : "x"(x), "x"(y));
      else
        asm("vfmadd213ss %2, %1, %0" : "+x"(next) : "x"(x), "x"(y));
      each = next;
    }
  for (int i = 0; i < kFew; ++i) std::memcpy(memory + sizeof(T) * i, &a[i], sizeof(T));
}

// The vector kernels differ in their target and their vector only; a template cannot have the
// target as a parameter.
template <class T>
__attribute__((target("sse2"))) void Sse2(Workspace& workspace, std::int64_t iterations) {
  typedef T Vector __attribute__((vector_size(16)));
  Vector x, y, a[kFew];
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  auto* memory = workspace.accumulators.data();
  for (int i = 0; i < kFew; ++i) std::memcpy(&a[i], memory + sizeof x * i, sizeof x);
  for (; iterations > 0; --iterations)
    for (auto& each : a) each = each * x + y;
  for (int i = 0; i < kFew; ++i) std::memcpy(memory + sizeof x * i, &a[i], sizeof x);
}

template <class T>
__attribute__((target("avx"))) void Avx(Workspace& workspace, std::int64_t iterations) {
  typedef T Vector __attribute__((vector_size(32)));
  Vector x, y, a[kFew];
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  auto* memory = workspace.accumulators.data();
  for (int i = 0; i < kFew; ++i) std::memcpy(&a[i], memory + sizeof x * i, sizeof x);
  for (; iterations > 0; --iterations)
    for (auto& each : a) each = each * x + y;
  for (int i = 0; i < kFew; ++i) std::memcpy(memory + sizeof x * i, &a[i], sizeof x);
}

template <class T>
__attribute__((target("avx2,fma"))) void Avx2Fma(Workspace& workspace, std::int64_t iterations) {
  typedef T Vector __attribute__((vector_size(32)));
  Vector x, y, a[kFew];
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  auto* memory = workspace.accumulators.data();
  for (int i = 0; i < kFew; ++i) std::memcpy(&a[i], memory + sizeof x * i, sizeof x);
  for (; iterations > 0; --iterations)
    for (auto& each : a) {
      if constexpr (std::is_same_v<T, double>)
        each = _mm256_fmadd_pd(each, x, y);
      else
        each = _mm256_fmadd_ps(each, x, y);
    }
  for (int i = 0; i < kFew; ++i) std::memcpy(memory + sizeof x * i, &a[i], sizeof x);
}

template <class T>
__attribute__((target("avx512f"))) void Avx512(Workspace& workspace, std::int64_t iterations) {
  typedef T Vector __attribute__((vector_size(64)));
  Vector x, y, a[kMany];
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  auto* memory = workspace.accumulators.data();
  for (int i = 0; i < kMany; ++i) std::memcpy(&a[i], memory + sizeof x * i, sizeof x);
  for (; iterations > 0; --iterations)
    for (auto& each : a) each = each * x + y;
  for (int i = 0; i < kMany; ++i) std::memcpy(memory + sizeof x * i, &a[i], sizeof x);
}

template <class T>
__attribute__((target("avx512f"))) void Avx512Fma(Workspace& workspace, std::int64_t iterations) {
  typedef T Vector __attribute__((vector_size(64)));
  Vector x, y, a[kMany];
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  auto* memory = workspace.accumulators.data();
  for (int i = 0; i < kMany; ++i) std::memcpy(&a[i], memory + sizeof x * i, sizeof x);
  for (; iterations > 0; --iterations)
    for (auto& each : a) {
      if constexpr (std::is_same_v<T, double>)
        each = _mm512_fmadd_pd(each, x, y);
      else
        each = _mm512_fmadd_ps(each, x, y);
    }
  for (int i = 0; i < kMany; ++i) std::memcpy(memory + sizeof x * i, &a[i], sizeof x);
}

// `d`: the last letter of the type's instructions.
template <class T>
std::vector<FlopsProbe> Rows(Operands operands, const std::string& pipe, const std::string& d) {
  constexpr auto kTwo = Recurrence::kMultiplyAdd, kFused = Recurrence::kFusedMultiplyAdd;
  const auto row = [&](const char* part, const std::string& instructions, Recurrence recurrence,
                       std::size_t bytes, int accumulators, Kernel kernel) -> FlopsProbe {
    const auto issue = recurrence == kFused ? Issue::kOne : Issue::kTwo;
    return {pipe + part, instructions, operands, recurrence, issue, bytes, accumulators, 1, kernel};
  };
  const std::string mul = "mul", add = " + add", vmul = "vmul", vadd = " + vadd";
  return {
      row(".sse2_scalar", mul + "s" + d + add + "s" + d, kTwo, sizeof(T), kFew, ScalarSse2<T>),
      row(".fma_scalar", "vfmadd213s" + d, kFused, sizeof(T), kFew, ScalarFma<T>),
      row(".sse2", mul + "p" + d + add + "p" + d, kTwo, 16, kFew, Sse2<T>),
      row(".avx", vmul + "p" + d + vadd + "p" + d + " ymm", kTwo, 32, kFew, Avx<T>),
      row(".avx512_nofma", vmul + "p" + d + vadd + "p" + d + " zmm", kTwo, 64, kMany, Avx512<T>),
      row(".avx2", "vfmaddp" + d + " ymm", kFused, 32, kFew, Avx2Fma<T>),
      row(".avx512", "vfmaddp" + d + " zmm", kFused, 64, kMany, Avx512Fma<T>),
  };
}

}  // namespace

std::vector<FlopsProbe> FloatVectorProbes() {
  auto all = Rows<double>(Operands::kFp64, "fp64.vector", "d");
  const auto fp32 = Rows<float>(Operands::kFp32, "fp32.vector", "s");
  all.insert(all.end(), fp32.begin(), fp32.end());
  return all;
}

}  // namespace dlroof
