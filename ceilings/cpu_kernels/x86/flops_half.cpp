// Vector kernels of fp16 (AVX512-FP16) and of bf16 (dot products of pairs, summed in fp32).
#include <immintrin.h>

#include <cstdint>

#include "ceilings/cpu_kernels/flops.h"
#include "ceilings/cpu_kernels/x86/chain.h"

namespace dlroof::cpu_kernels {
namespace {

constexpr int kMany = 16;

// fp16 in assembler on __m512, because older compilers do not have the type __m512h.
template <int kChain>
__attribute__((target("avx512f"))) void Fp16Fma(Workspace& workspace, std::int64_t iterations) {
  unsigned chain = 3;
  const __m512 x = _mm512_load_ps(workspace.operands.data() + kFirstOperand);
  const __m512 y = _mm512_load_ps(workspace.operands.data() + kSecondOperand);
  auto* memory = reinterpret_cast<float*>(workspace.accumulators.data());
  __m512 a[kMany];
  for (std::size_t i = 0; i < kMany; ++i) a[i] = _mm512_load_ps(memory + 16 * i);
  for (; iterations > 0; --iterations) {
    for (auto& each : a) {
      __m512 next = each;  // a copy: the array element would be stored to memory
      asm("vfmadd213ph %2, %1, %0" : "+v"(next) : "v"(x), "v"(y));
      each = next;
    }
    MultiplyBeside<kChain>(chain);
  }
  for (std::size_t i = 0; i < kMany; ++i) _mm512_store_ps(memory + 16 * i, a[i]);
}

template <int kChain>
__attribute__((target("avx512f,avx512bf16"))) void Bf16Zmm(Workspace& workspace,
                                                           std::int64_t iterations) {
  unsigned chain = 3;
  const auto* operands = workspace.operands.data();
  const auto x = reinterpret_cast<__m512bh>(_mm512_load_si512(operands + kFirstOperand));
  const auto y = reinterpret_cast<__m512bh>(_mm512_load_si512(operands + kSecondOperand));
  auto* memory = reinterpret_cast<float*>(workspace.accumulators.data());
  __m512 a[kMany];
  for (std::size_t i = 0; i < kMany; ++i) a[i] = _mm512_load_ps(memory + 16 * i);
  for (; iterations > 0; --iterations) {
    for (auto& each : a) each = _mm512_dpbf16_ps(each, x, y);
    MultiplyBeside<kChain>(chain);
  }
  for (std::size_t i = 0; i < kMany; ++i) _mm512_store_ps(memory + 16 * i, a[i]);
}

template <int kChain>
__attribute__((target("avx512f,avx512vl,avx512bf16"))) void Bf16Ymm(Workspace& workspace,
                                                                    std::int64_t iterations) {
  unsigned chain = 3;
  const auto* operands = reinterpret_cast<const __m256i*>(workspace.operands.data());
  const auto x = reinterpret_cast<__m256bh>(_mm256_load_si256(operands + kFirstOperand / 32));
  const auto y = reinterpret_cast<__m256bh>(_mm256_load_si256(operands + kSecondOperand / 32));
  auto* memory = reinterpret_cast<float*>(workspace.accumulators.data());
  __m256 a[kMany];
  for (std::size_t i = 0; i < kMany; ++i) a[i] = _mm256_load_ps(memory + 8 * i);
  for (; iterations > 0; --iterations) {
    for (auto& each : a) each = _mm256_dpbf16_ps(each, x, y);
    MultiplyBeside<kChain>(chain);
  }
  for (std::size_t i = 0; i < kMany; ++i) _mm256_store_ps(memory + 8 * i, a[i]);
}

}  // namespace

std::vector<FlopsProbe> HalfVectorProbes() {
  constexpr auto kDot = Recurrence::kDot;
  constexpr auto fp16 = []<int kChain>() -> Kernel { return Fp16Fma<kChain>; };
  constexpr auto ymm = []<int kChain>() -> Kernel { return Bf16Ymm<kChain>; };
  constexpr auto zmm = []<int kChain>() -> Kernel { return Bf16Zmm<kChain>; };
  return {
      {"fp16.vector.avx512_fp16", "vfmadd213ph zmm", Operands::kFp16, Recurrence::kFusedMultiplyAdd,
       Issue::kOne, 64, kMany, 1, Fp16Fma<0>, ClocksOf(ShortChains(), fp16)},
      {"bf16.vector.avx512_bf16_ymm", "vdpbf16ps ymm", Operands::kBf16, kDot, Issue::kOne, 32,
       kMany, 1, Bf16Ymm<0>, ClocksOf(ShortChains(), ymm)},
      {"bf16.vector.avx512_bf16", "vdpbf16ps zmm", Operands::kBf16, kDot, Issue::kOne, 64, kMany, 1,
       Bf16Zmm<0>, ClocksOf(ShortChains(), zmm)},
  };
}

}  // namespace dlroof::cpu_kernels
