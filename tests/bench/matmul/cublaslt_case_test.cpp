#include "bench/matmul/cublaslt_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/matmul/loops.h"
#include "tests/fakes/refusal.h"

namespace dlroof::matmul {
namespace {

using testing::HasSubstr;

MatmulCase CublasltCase(const std::string& name) {
  return ReadCublasltMatmulCase(workload::ParseBenchmarkName("Matmul/gpu/cublaslt/" + name));
}

// The product as BLAS has it: matrices column by column, leading dimension = rows.
std::vector<double> ColumnMajor(const ProductSpec& spec,
                                const products::ProductArrays<double>& arrays) {
  const auto at = [&](const MatrixSpec& matrix, int64_t pair, int64_t row, int64_t column) {
    if (matrix.transposed) std::swap(row, column);
    return MatrixOf(arrays, matrix.matrix).at((pair * matrix.columns + column) * matrix.rows + row);
  };
  const int64_t depth = spec.first.transposed ? spec.first.rows : spec.first.columns;
  std::vector<double> result;
  for (int64_t pair = 0; pair < spec.batch; ++pair)
    for (int64_t column = 0; column < spec.result.columns; ++column)
      for (int64_t row = 0; row < spec.result.rows; ++row) {
        double sum = 0;
        for (int64_t step = 0; step < depth; ++step)
          sum += at(spec.first, pair, row, step) * at(spec.second, pair, step, column);
        result.push_back(sum);
      }
  return result;
}

TEST(CublasltProduct, IsTheRowMajorOneColumnByColumn) {
  for (const std::string direction : {"fwd", "bwd_data", "bwd_weights"})
    for (const std::string order : {"", "_tA", "_tB", "_tAtB"}) {
      const auto one = CublasltCase(direction + "/f16/b2m3n4k5" + order);
      auto arrays = ZeroMatrices<double>(one.problem);
      double next = 1;
      for (auto* values : {&arrays.source, &arrays.weights, &arrays.destination})
        for (double& value : *values) value = next++;
      const auto found = ColumnMajor(ProductSpecOf(one), arrays);
      RunMatmulCase(one, arrays);
      EXPECT_EQ(found, MatrixOf(arrays, ProductOf(one).result)) << direction << order;
    }
}

TEST(CublasltName, HasItsTypesAndOptions) {
  EXPECT_EQ(CublasltCase("fwd/tf32/m1n2k3/bias/relu").fpmath, "tf32-truncated");
  EXPECT_EQ(ProductSpecOf(CublasltCase("fwd/tf32/m1n2k3")).compute, "tf32");
  EXPECT_EQ(ProductSpecOf(CublasltCase("fwd/s8s8s32/m1n2k3")).result.type, "s32");
  EXPECT_EQ(PipeOf("f32"), "fp32.vector");
  EXPECT_EQ(PipeOf("bf16"), "bf16.matrix");
  const auto refusal = [](const std::string& name) {
    return fakes::RefusalOf([&] { CublasltCase(name); });
  };
  // Matmul/gpu/cublaslt/ is 20 characters long.
  EXPECT_THAT(refusal("fwd/int8/m1n2k3"), HasSubstr("column 25: expected a type (f32, tf32, "));
  EXPECT_THAT(refusal("fwd/f16/m1n2k3/ip"), HasSubstr("column 36"));
}

TEST(CublasltName, IsKnownInEveryBuild) {
  EXPECT_NO_THROW(workload::MakeWorkload("Matmul/gpu/cublaslt/fwd/f16/m1n2k3"));
  EXPECT_THROW(workload::MakeWorkload("Matmul/gpu/cublaslt/fwd/f16/m1n2"), BadInput);
}

}  // namespace
}  // namespace dlroof::matmul
