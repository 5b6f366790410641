// a = a * x + y by FMA instructions in fp64 and fp32. 14 independent accumulators (of 16 registers)
// cover the latency of 4 or 5 cycles at two FMA per cycle; AVX-512 uses 16 of 32 registers.
#include <immintrin.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ceilings/cpu_kernels/flops.h"
#include "ceilings/cpu_kernels/x86/chain.h"

namespace dlroof::cpu_kernels {
namespace {

constexpr int kFew = 14, kMany = 16;

// Scalar FMA in assembler, because the compiler would vectorize it.
template <class T, int kChain>
__attribute__((target("fma"))) void ScalarFma(Workspace& workspace, std::int64_t iterations) {
  unsigned chain = 3;
  T x, y, a[kFew];
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  auto* memory = workspace.accumulators.data();
  for (int i = 0; i < kFew; ++i) std::memcpy(&a[i], memory + sizeof(T) * i, sizeof(T));
  for (; iterations > 0; --iterations) {
    for (auto& each : a) {
      T next = each;  // a copy: the array element would be stored to memory
      if constexpr (std::is_same_v<T, double>)
        asm("vfmadd213sd %2, %1, %0" : "+x"(next) : "x"(x), "x"(y));
      else
        asm("vfmadd213ss %2, %1, %0" : "+x"(next) : "x"(x), "x"(y));
      each = next;
    }
    MultiplyBeside<kChain>(chain);
  }
  for (int i = 0; i < kFew; ++i) std::memcpy(memory + sizeof(T) * i, &a[i], sizeof(T));
}

template <class T, int kChain>
__attribute__((target("avx2,fma"))) void Avx2Fma(Workspace& workspace, std::int64_t iterations) {
  typedef T Vector __attribute__((vector_size(32)));
  unsigned chain = 3;
  Vector x, y, a[kFew];
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  auto* memory = workspace.accumulators.data();
  for (int i = 0; i < kFew; ++i) std::memcpy(&a[i], memory + sizeof x * i, sizeof x);
  for (; iterations > 0; --iterations) {
    for (auto& each : a) {
      if constexpr (std::is_same_v<T, double>)
        each = _mm256_fmadd_pd(each, x, y);
      else
        each = _mm256_fmadd_ps(each, x, y);
    }
    MultiplyBeside<kChain>(chain);
  }
  for (int i = 0; i < kFew; ++i) std::memcpy(memory + sizeof x * i, &a[i], sizeof x);
}

template <class T, int kChain>
__attribute__((target("avx512f"))) void Avx512Fma(Workspace& workspace, std::int64_t iterations) {
  typedef T Vector __attribute__((vector_size(64)));
  unsigned chain = 3;
  Vector x, y, a[kMany];
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  auto* memory = workspace.accumulators.data();
  for (int i = 0; i < kMany; ++i) std::memcpy(&a[i], memory + sizeof x * i, sizeof x);
  for (; iterations > 0; --iterations) {
    for (auto& each : a) {
      if constexpr (std::is_same_v<T, double>)
        each = _mm512_fmadd_pd(each, x, y);
      else
        each = _mm512_fmadd_ps(each, x, y);
    }
    MultiplyBeside<kChain>(chain);
  }
  for (int i = 0; i < kMany; ++i) std::memcpy(memory + sizeof x * i, &a[i], sizeof x);
}

// Returns the rows of one type; `d` is the last letter of its instructions ("d" or "s").
template <class T>
std::vector<FlopsProbe> Rows(Operands operands, const std::string& pipe, const std::string& d) {
  const auto row = [&](const char* part, const std::string& instruction, std::size_t bytes,
                       int accumulators, const auto& make) -> FlopsProbe {
    return {pipe + part,
            instruction,
            operands,
            Recurrence::kFusedMultiplyAdd,
            Issue::kOne,
            bytes,
            accumulators,
            1,
            make.template operator()<0>(),
            ClocksOf(ShortChains(), make)};
  };
  return {row(".fma_scalar", "vfmadd213s" + d, sizeof(T), kFew,
              []<int kChain>() -> Kernel { return ScalarFma<T, kChain>; }),
          row(".avx2", "vfmaddp" + d + " ymm", 32, kFew,
              []<int kChain>() -> Kernel { return Avx2Fma<T, kChain>; }),
          row(".avx512", "vfmaddp" + d + " zmm", 64, kMany,
              []<int kChain>() -> Kernel { return Avx512Fma<T, kChain>; })};
}

}  // namespace

std::vector<FlopsProbe> FusedProbes() {
  auto all = Rows<double>(Operands::kFp64, "fp64.vector", "d");
  const auto fp32 = Rows<float>(Operands::kFp32, "fp32.vector", "s");
  all.insert(all.end(), fp32.begin(), fp32.end());
  return all;
}

}  // namespace dlroof::cpu_kernels
