// Matmul/gpu/cublaslt without CUDA, so that names parse in the same way in every build: the parsed
// name, and its product as cuBLASLt needs it, in column-major order.
#pragma once

#include <cstdint>
#include <string>

#include "bench/matmul/case.h"
#include "bench/workload/benchmark_name.h"

namespace dlroof::matmul {

// Types: f32 (without tensor cores), tf32, f16, bf16, s8s8s32. Options: bias, relu (fused into
// fwd). The type "tf32" is f32 matrices with `fpmath` "tf32-truncated": tensor cores ignore the low
// bits. Throws BadInput with the column in the whole name.
MatmulCase ReadCublasltMatmulCase(const workload::BenchmarkName& name);

// A matrix in memory, in column-major order.
struct MatrixSpec {
  Matrix matrix = Matrix::kA;
  std::string type;               // "f32 f16 bf16 s8 s32"
  int64_t rows = 1, columns = 1;  // as stored
  bool transposed = false;        // whether the product uses its transpose

  bool operator==(const MatrixSpec&) const = default;
};

// `batch` products result = first x second of dense, consecutive matrices. This is the transpose of
// our row-major equation, so `first` is our right factor.
struct ProductSpec {
  MatrixSpec first, second, result;
  int64_t batch = 1;
  std::string compute;  // "f32", "tf32", "s32"
};
ProductSpec ProductSpecOf(const MatmulCase& matmul);

// Returns the pipe that computes a type: "fp32.vector" for f32, tensor cores for others.
std::string PipeOf(std::string_view type);

}  // namespace dlroof::matmul
