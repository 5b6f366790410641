// Kernels with one instruction per step: a = a * x + y by FMA in fp64, fp32 and fp16, and dot
// products of pairs of bf16 (to fp32) and of four u8 x s8 (VNNI, to s32). 14 independent
// accumulators (of 16 registers) cover a latency of 4 or 5 cycles at two instructions per cycle;
// AVX-512 uses 16 of 32 registers.
#include <immintrin.h>

#include <cstdint>
#include <type_traits>

#include "ceilings/cpu_kernels/chain.h"
#include "ceilings/cpu_kernels/flops.h"

namespace dlroof::cpu_kernels {
namespace {

constexpr int kFew = 14, kMany = 16;

template <class T, int kChain>
__attribute__((target("avx2,fma"))) void Avx2Fma(Workspace& workspace, std::int64_t iterations) {
  typedef T Vector __attribute__((vector_size(32)));
  RunSteps<Vector, kFew, kChain>(
      workspace, iterations,
      [](Vector & a, const Vector& x, const Vector& y) __attribute__((target("avx2,fma"))) {
        if constexpr (std::is_same_v<T, double>)
          a = _mm256_fmadd_pd(a, x, y);
        else
          a = _mm256_fmadd_ps(a, x, y);
      });
}

template <class T, int kChain>
__attribute__((target("avx512f"))) void Avx512Fma(Workspace& workspace, std::int64_t iterations) {
  typedef T Vector __attribute__((vector_size(64)));
  RunSteps<Vector, kMany, kChain>(
      workspace, iterations,
      [](Vector & a, const Vector& x, const Vector& y) __attribute__((target("avx512f"))) {
        if constexpr (std::is_same_v<T, double>)
          a = _mm512_fmadd_pd(a, x, y);
        else
          a = _mm512_fmadd_ps(a, x, y);
      });
}

// fp16 in assembler on __m512, because older compilers do not have the type __m512h.
template <int kChain>
__attribute__((target("avx512f"))) void Fp16Fma(Workspace& workspace, std::int64_t iterations) {
  RunSteps<__m512, kMany, kChain>(
      workspace, iterations,
      [](__m512 & a, const __m512& x, const __m512& y) __attribute__((target("avx512f"))) {
        asm("vfmadd213ph %2, %1, %0" : "+v"(a) : "v"(x), "v"(y));
      });
}

template <int kChain>
__attribute__((target("avx512f,avx512bf16"))) void Bf16Zmm(Workspace& workspace,
                                                           std::int64_t iterations) {
  RunSteps<__m512, kMany, kChain>(
      workspace, iterations,
      [](__m512 & a, const __m512& x, const __m512& y)
          __attribute__((target("avx512f,avx512bf16"))) {
            a = _mm512_dpbf16_ps(a, reinterpret_cast<__m512bh>(x), reinterpret_cast<__m512bh>(y));
          });
}

template <int kChain>
__attribute__((target("avx512f,avx512vl,avx512bf16"))) void Bf16Ymm(Workspace& workspace,
                                                                    std::int64_t iterations) {
  RunSteps<__m256, kMany, kChain>(
      workspace, iterations,
      [](__m256 & a, const __m256& x, const __m256& y)
          __attribute__((target("avx512f,avx512vl,avx512bf16"))) {
            a = _mm256_dpbf16_ps(a, reinterpret_cast<__m256bh>(x), reinterpret_cast<__m256bh>(y));
          });
}

// int8 vectors have the accumulators' type: gcc 12 copies __m512i twice per iteration (2.5x time).
template <int kChain>
__attribute__((target("avx2,avxvnni"))) void AvxVnni(Workspace& workspace,
                                                     std::int64_t iterations) {
  RunSteps<__v8si, kFew, kChain>(
      workspace, iterations,
      [](__v8si & a, const __v8si& x, const __v8si& y) __attribute__((target("avx2,avxvnni"))) {
        a = __v8si(_mm256_dpbusd_avx_epi32(__m256i(a), __m256i(x), __m256i(y)));
      });
}

template <int kChain>
__attribute__((target("avx512vnni,avx512vl"))) void Avx512VnniYmm(Workspace& workspace,
                                                                  std::int64_t iterations) {
  RunSteps<__v8si, kMany, kChain>(
      workspace, iterations,
      [](__v8si & a, const __v8si& x, const __v8si& y)
          __attribute__((target("avx512vnni,avx512vl"))) {
            a = __v8si(_mm256_dpbusd_epi32(__m256i(a), __m256i(x), __m256i(y)));
          });
}

template <int kChain>
__attribute__((target("avx512f,avx512vnni"))) void Avx512Vnni(Workspace& workspace,
                                                              std::int64_t iterations) {
  RunSteps<__v16si, kMany, kChain>(
      workspace, iterations,
      [](__v16si & a, const __v16si& x, const __v16si& y)
          __attribute__((target("avx512f,avx512vnni"))) {
            a = __v16si(_mm512_dpbusd_epi32(__m512i(a), __m512i(x), __m512i(y)));
          });
}

FlopsProbe Row(const std::string& key, const std::string& instruction, Operands operands,
               std::size_t bytes, int accumulators, const auto& make) {
  const bool dot = operands == Operands::kBf16 || operands == Operands::kInt8;
  return WithKernels(
      {key, instruction, operands, dot ? Recurrence::kDot : Recurrence::kFusedMultiplyAdd,
       Issue::kOne, bytes, accumulators},
      make);
}

}  // namespace

std::vector<FlopsProbe> SingleInstructionProbes() {
  constexpr auto kFp64 = Operands::kFp64, kFp32 = Operands::kFp32, kFp16 = Operands::kFp16;
  constexpr auto kBf16 = Operands::kBf16, kInt8 = Operands::kInt8;
  return {
      Row("fp64.vector.avx2", "vfmaddpd ymm", kFp64, 32, kFew,
          []<int kChain>() -> Kernel { return Avx2Fma<double, kChain>; }),
      Row("fp64.vector.avx512", "vfmaddpd zmm", kFp64, 64, kMany,
          []<int kChain>() -> Kernel { return Avx512Fma<double, kChain>; }),
      Row("fp32.vector.avx2", "vfmaddps ymm", kFp32, 32, kFew,
          []<int kChain>() -> Kernel { return Avx2Fma<float, kChain>; }),
      Row("fp32.vector.avx512", "vfmaddps zmm", kFp32, 64, kMany,
          []<int kChain>() -> Kernel { return Avx512Fma<float, kChain>; }),
      Row("fp16.vector.avx512_fp16", "vfmadd213ph zmm", kFp16, 64, kMany,
          []<int kChain>() -> Kernel { return Fp16Fma<kChain>; }),
      Row("bf16.vector.avx512_bf16_ymm", "vdpbf16ps ymm", kBf16, 32, kMany,
          []<int kChain>() -> Kernel { return Bf16Ymm<kChain>; }),
      Row("bf16.vector.avx512_bf16", "vdpbf16ps zmm", kBf16, 64, kMany,
          []<int kChain>() -> Kernel { return Bf16Zmm<kChain>; }),
      Row("int8.vector.avx_vnni", "vpdpbusd ymm", kInt8, 32, kFew,
          []<int kChain>() -> Kernel { return AvxVnni<kChain>; }),
      Row("int8.vector.avx512_vnni_ymm", "vpdpbusd ymm", kInt8, 32, kMany,
          []<int kChain>() -> Kernel { return Avx512VnniYmm<kChain>; }),
      Row("int8.vector.avx512_vnni", "vpdpbusd zmm", kInt8, 64, kMany,
          []<int kChain>() -> Kernel { return Avx512Vnni<kChain>; }),
  };
}

}  // namespace dlroof::cpu_kernels
