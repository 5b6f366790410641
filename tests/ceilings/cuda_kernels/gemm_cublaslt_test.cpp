// cublasLt's description of the ceilings' products. Needs no GPU.
#include "ceilings/cuda_kernels/gemm_cublaslt.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace dlroof::cuda_kernels {
namespace {

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
TEST(DescribeProduct, OnlyFp8AccumulatesFast) {
  for (const auto element : {GpuElement::kFp64, GpuElement::kFp32, GpuElement::kTf32,
                             GpuElement::kFp16, GpuElement::kBf16, GpuElement::kInt8})
    EXPECT_EQ(Attribute<std::int8_t>(element, CUBLASLT_MATMUL_DESC_FAST_ACCUM), 0)
        << static_cast<int>(element);
  EXPECT_EQ(Attribute<std::int8_t>(GpuElement::kFp8, CUBLASLT_MATMUL_DESC_FAST_ACCUM), 1);
}

TEST(DescribeProduct, TheFirstOperandIsTransposed) {
  for (const auto element : {GpuElement::kFp16, GpuElement::kFp8})
    EXPECT_EQ(Attribute<cublasOperation_t>(element, CUBLASLT_MATMUL_DESC_TRANSA), CUBLAS_OP_T);
}

}  // namespace
}  // namespace dlroof::cuda_kernels
