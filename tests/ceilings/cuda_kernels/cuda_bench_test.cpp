// The kernels of the GPU's ceilings by CUDA. ceilings/cuda_kernels/bench_cuda.h launches them.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "ceilings/cuda_kernels/bench_cuda.h"
#include "ceilings/cuda_kernels/gemm_cublaslt.h"
#include "counters/base/error.h"
#include "tests/fakes/no_gpu.h"
#include "tests/fakes/refusal.h"

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

// ---- cublasLt's description of the products; needs no GPU ----

using gpu_ceilings::GpuElement;

// Returns an attribute of the element's product. Fails the test if cublasLt does not.
template <class T>
T Attribute(GpuElement element, cublasLtMatmulDescAttributes_t name) {
  const auto product = DescribeProduct(element);
  T value{};
  std::size_t bytes = 0;
  EXPECT_EQ(cublasLtMatmulDescGetAttribute(product.get(), name, &value, sizeof value, &bytes),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(bytes, sizeof value);
  return value;
}

// An H200 has no algorithm for any other type with fast accumulation.
TEST(DescribeProduct, OnlyFp8AccumulatesFastAndTheFirstOperandIsTransposed) {
  for (const auto element : {GpuElement::kFp64, GpuElement::kFp32, GpuElement::kTf32,
                             GpuElement::kFp16, GpuElement::kBf16, GpuElement::kInt8})
    EXPECT_EQ(Attribute<std::int8_t>(element, CUBLASLT_MATMUL_DESC_FAST_ACCUM), 0)
        << static_cast<int>(element);
  EXPECT_EQ(Attribute<std::int8_t>(GpuElement::kFp8, CUBLASLT_MATMUL_DESC_FAST_ACCUM), 1);
  for (const auto element : {GpuElement::kFp16, GpuElement::kFp8})
    EXPECT_EQ(Attribute<cublasOperation_t>(element, CUBLASLT_MATMUL_DESC_TRANSA), CUBLAS_OP_T);
}

}  // namespace
}  // namespace dlroof::cuda_kernels
