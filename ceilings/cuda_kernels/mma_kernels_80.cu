// mma.sync instructions of compute capability 8.0 and later.
#include "ceilings/cuda_kernels/mma.cuh"

namespace dlroof::cuda_kernels {
namespace {

DLROOF_MMA_M16N8(Fp16, float, "f", "m16n8k16.row.col.f32.f16.f16.f32");
DLROOF_MMA_M16N8(Bf16, float, "f", "m16n8k16.row.col.f32.bf16.bf16.f32");
DLROOF_MMA_M16N8(Tf32, float, "f", "m16n8k8.row.col.f32.tf32.tf32.f32");
DLROOF_MMA_M16N8(Int8, int, "r", "m16n8k32.row.col.s32.s8.s8.s32");

struct Fp64K4 {
  using Register = double;
  using Sum = double;
  static constexpr int kA = 1, kB = 1, kSums = 2, kChains = 8;
  static __device__ void Step(Sum* sums, const Register* a, const Register* b) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(sums[0]), "+d"(sums[1])
                 : "d"(a[0]), "d"(b[0]));
  }
};

}  // namespace

cudaError_t LaunchMmaFp16(const GpuLaunch& launch) { return LaunchMma<Fp16>(launch); }
cudaError_t LaunchMmaBf16(const GpuLaunch& launch) { return LaunchMma<Bf16>(launch); }
cudaError_t LaunchMmaTf32(const GpuLaunch& launch) { return LaunchMma<Tf32>(launch); }
cudaError_t LaunchMmaInt8(const GpuLaunch& launch) { return LaunchMma<Int8>(launch); }
cudaError_t LaunchMmaFp64K4(const GpuLaunch& launch) { return LaunchMma<Fp64K4>(launch); }

}  // namespace dlroof::cuda_kernels
