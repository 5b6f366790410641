#include "bench/matmul/cublaslt_case.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace dlroof::matmul {
namespace {

struct TypeRow {
  std::string_view type, compute, pipe;
};
constexpr std::array<TypeRow, 5> kTypes = {{{"f32", "f32", "fp32.vector"},
                                            {"tf32", "tf32", "tf32.matrix"},
                                            {"f16", "f32", "fp16.matrix"},
                                            {"bf16", "f32", "bf16.matrix"},
                                            {"s8s8s32", "s32", "int8.matrix"}}};

const TypeRow& RowOf(std::string_view type) {
  return *std::ranges::find_if(kTypes, [&](auto& row) { return row.type == type; });
}

// A row-major matrix is the transpose of a column-major one.
MatrixSpec SpecOf(const MatmulCase& matmul, const Factor& factor, int64_t rows, int64_t columns) {
  MatrixSpec spec{factor.matrix, std::string(TypeOf(matmul.types, factor.matrix)), columns, rows,
                  factor.transposed};
  if (factor.transposed) std::swap(spec.rows, spec.columns);
  return spec;
}

}  // namespace

MatmulCase ReadCublasltMatmulCase(const workload::BenchmarkName& name) {
  products::ProductCapabilities capabilities{{}, false, {{"bias"}, {"relu"}}};
  for (const auto& row : kTypes) capabilities.types.emplace_back(row.type);
  auto matmul = ReadMatmulCase(name, capabilities);
  if (matmul.type == "tf32") matmul.fpmath = "tf32-truncated";
  return matmul;
}

ProductSpec ProductSpecOf(const MatmulCase& matmul) {
  const auto p = ProductOf(matmul);
  return {SpecOf(matmul, p.right, p.depth, p.columns), SpecOf(matmul, p.left, p.rows, p.depth),
          SpecOf(matmul, {p.result, false}, p.rows, p.columns), p.batch,
          std::string(RowOf(matmul.type).compute)};
}

std::string PipeOf(std::string_view type) { return std::string(RowOf(type).pipe); }

namespace {
[[maybe_unused]] const bool cublaslt_case_registered = workload::RegisterBackend(
    {"Matmul", "gpu", "cublaslt", workload::CheckedWorkload<ReadCublasltMatmulCase>,
     "the CUDA module"});
}  // namespace

}  // namespace dlroof::matmul
