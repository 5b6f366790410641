// mma.sync in fp64 with the larger matrices of compute capability 9.0 and later.
#include "ceilings/cuda_kernels/mma.cuh"

namespace dlroof::cuda_kernels {
namespace {

struct Fp64K16 {
  using Register = double;
  using Sum = double;
  static constexpr int kA = 8, kB = 4, kSums = 4, kChains = 4;
  static __device__ void Step(Sum* sums, const Register* a, const Register* b) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, "
        "%9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
        : "+d"(sums[0]), "+d"(sums[1]), "+d"(sums[2]), "+d"(sums[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
          "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
  }
};

}  // namespace

cudaError_t LaunchMmaFp64K16(const GpuLaunch& launch) { return LaunchMma<Fp64K16>(launch); }

}  // namespace dlroof::cuda_kernels
