// The parts of Matmul/gpu/cublaslt that need no CUDA, so that names parse in the same way in every
// build: the parsed name, and its matrix product in column-major order, as cuBLASLt needs it.
#pragma once

#include <cstdint>
#include <string>

#include "bench/matmul/case.h"
#include "bench/workload/benchmark_name.h"

namespace dlroof::matmul {

// Parses a name. Types: f32 (without tensor cores), tf32, f16, bf16, s8s8s32. Options: bias, relu
// (fused into fwd). The type "tf32" means f32 matrices with `fpmath` "tf32-truncated": tensor cores
// ignore the low bits. Throws BadInput with the column, counted from the start of the benchmark's
// full name.
MatmulCase ReadCublasltMatmulCase(const workload::BenchmarkName& name);

// A matrix in memory, in column-major order.
struct MatrixSpec {
  Matrix matrix = Matrix::kA;
  std::string type;               // "f32 f16 bf16 s8 s32"
  int64_t rows = 1, columns = 1;  // of the stored matrix
  bool transposed = false;        // whether the product uses the transpose

  bool operator==(const MatrixSpec&) const = default;
};

// `batch` matrix products result = first x second of dense, consecutive matrices. This is the
// transpose of MatmulProduct's row-major equation, so `first` is its right factor.
struct ProductSpec {
  MatrixSpec first, second, result;
  int64_t batch = 1;
  std::string compute;  // type of the multiply-adds: "f32", "tf32", "s32"
};
ProductSpec ProductSpecOf(const MatmulCase& matmul);

// Returns the pipe that computes a type: "fp32.vector" for f32, tensor cores for others.
std::string PipeOf(std::string_view type);

}  // namespace dlroof::matmul
