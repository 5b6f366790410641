// mma.sync of 7.5.
#include "ceilings/cuda_kernels/mma.cuh"

namespace dlroof::cuda_kernels {
namespace {

struct Fp16K8 {
  using Register = unsigned;
  using Sum = float;
  static constexpr int kA = 2, kB = 1, kSums = 4, kChains = 8;
  static __device__ void Step(Sum* sums, const Register* a, const Register* b) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, "
        "%1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  }
};

struct Int8K16 {
  using Register = unsigned;
  using Sum = int;
  static constexpr int kA = 1, kB = 1, kSums = 2, kChains = 8;
  static __device__ void Step(Sum* sums, const Register* a, const Register* b) {
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(sums[0]), "+r"(sums[1])
                 : "r"(a[0]), "r"(b[0]));
  }
};

}  // namespace

cudaError_t LaunchMmaFp16K8(const GpuLaunch& launch) { return LaunchMma<Fp16K8>(launch); }
cudaError_t LaunchMmaInt8K16(const GpuLaunch& launch) { return LaunchMma<Int8K16>(launch); }

}  // namespace dlroof::cuda_kernels
