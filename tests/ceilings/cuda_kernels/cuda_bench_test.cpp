// The kernels of the GPU's ceilings by CUDA. ceilings/cuda_kernels/bench_cuda.h launches them.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "ceilings/cuda_kernels/bench_cuda.h"
#include "counters/base/error.h"
#include "tests/fakes/no_gpu.h"
#include "tests/fakes/reason.h"

namespace dlroof::cuda_kernels {
namespace {

TEST(CudaBench, EveryRowOfEveryGpuHasAKernel) {
  for (const int capability : {75, 80, 86, 87, 89, 90, 100, 103, 120, 121})
    for (const auto& row : gpu_ceilings::GpuRows(capability))
      EXPECT_TRUE(row.unit == gpu_ceilings::GpuUnit::kGemm || HasCudaKernel(row))
          << capability << ' ' << row.key;
}

TEST(CudaBenchOnGpu, EveryRowLeavesWhatAPlainLoopLeaves) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)
    GTEST_SKIP() << fakes::NeedsGpu("no GPU");
  const auto bench = OpenCudaBench(0);
  const auto gpu = bench->Describe();
  const gpu_ceilings::GpuSize size = {gpu.identity.sms,
                                      static_cast<std::int64_t>(gpu.identity.l2_bytes),
                                      static_cast<std::int64_t>(gpu.free_bytes)};
  for (const auto& row : gpu_ceilings::GpuRows(10 * gpu.identity.major + gpu.identity.minor)) {
    try {
      for (const auto& shape :
           gpu_ceilings::CheckShapes(row, gpu_ceilings::GpuShapes(row, size, 1e12).front())) {
        const auto operands =
            gpu_ceilings::GpuOperands(row, shape, gpu_ceilings::GpuOperandKind::kKnown);
        for (const int iterations : {1, 3})
          EXPECT_EQ(fakes::TextOf(gpu_ceilings::GpuDifference(
                        row, shape, iterations, bench->Result(row, shape, operands, iterations))),
                    "")
              << row.key << " with " << shape.blocks << " blocks";
      }
    } catch (const Unsupported& error) {
      EXPECT_EQ(row.unit, gpu_ceilings::GpuUnit::kGemm) << row.key << ": " << error.what();
    }
  }
}

}  // namespace
}  // namespace dlroof::cuda_kernels
