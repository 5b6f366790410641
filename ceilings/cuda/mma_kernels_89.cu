// mma.sync in fp8, where it is an instruction (8.9, 12.x): elsewhere it is emulated in fp16.
#include "ceilings/cuda/mma.cuh"

namespace dlroof {
namespace {

struct Fp8 {
  using Register = unsigned;
  using Sum = float;
  static constexpr int kA = 4, kB = 2, kSums = 4, kChains = 8;
  static __device__ void Step(Sum* sums, const Register* a, const Register* b) {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

}  // namespace

cudaError_t LaunchMmaFp8(const GpuLaunch& launch) { return LaunchMma<Fp8>(launch); }

}  // namespace dlroof
