// mma.sync in fp8 for compute capabilities 8.9 and 12.x. Other GPUs emulate it in fp16.
#include "ceilings/cuda_kernels/mma.cuh"

namespace dlroof::cuda_kernels {
namespace {

DLROOF_MMA_M16N8(Fp8, float, "f", "m16n8k32.row.col.f32.e4m3.e4m3.f32");

}  // namespace

cudaError_t LaunchMmaFp8(const GpuLaunch& launch) { return LaunchMma<Fp8>(launch); }

}  // namespace dlroof::cuda_kernels
