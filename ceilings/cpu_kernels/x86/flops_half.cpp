// fp16 (AVX512-FP16) and bf16 (dot products of pairs, summed in fp32) on vectors.
#include <immintrin.h>

#include <cstdint>

#include "ceilings/cpu_kernels/flops.h"

namespace dlroof::cpu_kernels {
namespace {

constexpr int kMany = 16;

// fp16 in assembler on __m512, because older compilers do not know __m512h.
__attribute__((target("avx512f"))) void Fp16Fma(Workspace& workspace, std::int64_t iterations) {
  const __m512 x = _mm512_load_ps(workspace.operands.data() + kFirstOperand);
  const __m512 y = _mm512_load_ps(workspace.operands.data() + kSecondOperand);
  auto* memory = reinterpret_cast<float*>(workspace.accumulators.data());
  __m512 a[kMany];
  for (std::size_t i = 0; i < kMany; ++i) a[i] = _mm512_load_ps(memory + 16 * i);
  for (; iterations > 0; --iterations)
    for (auto& each : a) {
      __m512 next = each;  // a copy: the array itself would be stored each time
      asm("vfmadd213ph %2, %1, %0" : "+v"(next) : "v"(x), "v"(y));
      each = next;
    }
  for (std::size_t i = 0; i < kMany; ++i) _mm512_store_ps(memory + 16 * i, a[i]);
}

__attribute__((target("avx512f,avx512bf16"))) void Bf16Zmm(Workspace& workspace,
                                                           std::int64_t iterations) {
  const auto* operands = workspace.operands.data();
  const auto x = reinterpret_cast<__m512bh>(_mm512_load_si512(operands + kFirstOperand));
  const auto y = reinterpret_cast<__m512bh>(_mm512_load_si512(operands + kSecondOperand));
  auto* memory = reinterpret_cast<float*>(workspace.accumulators.data());
  __m512 a[kMany];
  for (std::size_t i = 0; i < kMany; ++i) a[i] = _mm512_load_ps(memory + 16 * i);
  for (; iterations > 0; --iterations)
    for (auto& each : a) each = _mm512_dpbf16_ps(each, x, y);
  for (std::size_t i = 0; i < kMany; ++i) _mm512_store_ps(memory + 16 * i, a[i]);
}

__attribute__((target("avx512f,avx512vl,avx512bf16"))) void Bf16Ymm(Workspace& workspace,
                                                                    std::int64_t iterations) {
  const auto* operands = reinterpret_cast<const __m256i*>(workspace.operands.data());
  const auto x = reinterpret_cast<__m256bh>(_mm256_load_si256(operands + kFirstOperand / 32));
  const auto y = reinterpret_cast<__m256bh>(_mm256_load_si256(operands + kSecondOperand / 32));
  auto* memory = reinterpret_cast<float*>(workspace.accumulators.data());
  __m256 a[kMany];
  for (std::size_t i = 0; i < kMany; ++i) a[i] = _mm256_load_ps(memory + 8 * i);
  for (; iterations > 0; --iterations)
    for (auto& each : a) each = _mm256_dpbf16_ps(each, x, y);
  for (std::size_t i = 0; i < kMany; ++i) _mm256_store_ps(memory + 8 * i, a[i]);
}

}  // namespace

std::vector<FlopsProbe> HalfVectorProbes() {
  constexpr auto kDot = Recurrence::kDot;
  return {
      {"fp16.vector.avx512_fp16", "vfmadd213ph zmm", Operands::kFp16, Recurrence::kFusedMultiplyAdd,
       Issue::kOne, 64, kMany, 1, Fp16Fma},
      {"bf16.vector.avx512_bf16_ymm", "vdpbf16ps ymm", Operands::kBf16, kDot, Issue::kOne, 32,
       kMany, 1, Bf16Ymm},
      {"bf16.vector.avx512_bf16", "vdpbf16ps zmm", Operands::kBf16, kDot, Issue::kOne, 64, kMany, 1,
       Bf16Zmm},
  };
}

}  // namespace dlroof::cpu_kernels
