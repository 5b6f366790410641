// A Matmul/gpu/cublaslt benchmark's name, and its product as cuBLASLt wants it: column-major. No
// CUDA here: names parse the same way in every build.
#pragma once

#include <cstdint>
#include <string>

#include "bench/matmul/case.h"
#include "bench/workload/benchmark_name.h"

namespace dlroof::matmul {

// Types: f32 (no tensor cores), tf32, f16, bf16, s8s8s32. Options: bias, relu (fwd, fused). A type
// "tf32" is f32 matrices with `fpmath` "tf32-truncated": tensor cores ignore the low bits. Throws
// BadInput with the column within the whole name.
MatmulCase ReadCublasltMatmulCase(const workload::BenchmarkName& name);

// A matrix in memory, column by column.
struct MatrixSpec {
  Matrix matrix = Matrix::kA;
  std::string type;               // "f32 f16 bf16 s8 s32"
  int64_t rows = 1, columns = 1;  // as it lies in memory
  bool transposed = false;        // before it is multiplied

  bool operator==(const MatrixSpec&) const = default;
};

// result = first x second, `batch` times, each dense and right behind the one before. It is the
// transpose of our row-major equation, so first is our right factor.
struct ProductSpec {
  MatrixSpec first, second, result;
  int64_t batch = 1;
  std::string compute;  // "f32", "tf32", "s32"
};
ProductSpec ProductSpecOf(const MatmulCase& matmul);

// The unit that computes a type: "fp32.vector" for f32, else tensor cores.
std::string PipeOf(std::string_view type);

}  // namespace dlroof::matmul
