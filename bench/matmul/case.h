// The Matmul problem (its shape, its text, and its FLOPs by formula), the matrix product that each
// direction computes, and the parsed benchmark name: problem, direction, types, options.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/products/case.h"
#include "bench/workload/benchmark_name.h"
#include "bench/workload/workload.h"
#include "counters/base/work.h"

namespace dlroof::matmul {

// C = A B for each of b pairs of matrices: A is m x k, B is k x n, C is m x n. A matrix is stored
// in row-major order, or in column-major order if it is transposed.
struct MatmulProblem {
  int64_t b = 1, m = 1, n = 1, k = 1;
  bool transposed_a = false;  // A is stored as a k x m matrix
  bool transposed_b = false;  // B is stored as an n x k matrix

  bool operator==(const MatmulProblem&) const = default;
};

// Return the number of elements in all b matrices [1].
int64_t CountA(const MatmulProblem& problem);
int64_t CountB(const MatmulProblem& problem);
int64_t CountC(const MatmulProblem& problem);

// Returns "b12m128n128k64_tB". The text omits a batch of 1.
std::string ToText(const MatmulProblem& problem);

// The inverse of ToText; each problem has one text. Throws BadInput with the column (from 1, plus
// `column_offset`) of the first bad character, or with the problem's first column if counts, bytes
// or FLOPs overflow 64 bits.
MatmulProblem ParseMatmul(std::string_view text, int column_offset = 0);

// Returns 2 b m n k [flop], in every direction.
int64_t Flops(const MatmulProblem& problem);

enum class Matrix { kA, kB, kC };  // a matrix or the gradient of that matrix

struct Factor {
  Matrix matrix = Matrix::kA;
  bool transposed = false;  // memory contains the transpose in row-major order

  bool operator==(const Factor&) const = default;
};

// `batch` matrix products result = left x right, each of rows x depth and depth x columns.
struct MatmulProduct {
  int64_t batch = 1, rows = 1, columns = 1, depth = 1;
  Factor left, right;
  Matrix result = Matrix::kC;  // always in row-major order

  int64_t LeftIndex(int64_t pair, int64_t row, int64_t step) const {
    return pair * rows * depth + (left.transposed ? step * rows + row : row * depth + step);
  }
  int64_t RightIndex(int64_t pair, int64_t step, int64_t column) const {
    return pair * depth * columns +
           (right.transposed ? column * depth + step : step * columns + column);
  }

  bool operator==(const MatmulProduct&) const = default;
};

// Returns C = A B for fwd, dA = dC B^T for bwd_data and dB = A^T dC for bwd_weights. A gradient has
// the memory order of its matrix. If that order is transposed, both sides of the equation are.
MatmulProduct ProductOf(const MatmulProblem& problem, ProductDirection direction);

// A parsed name. A is the source, B are the weights, C is the destination.
struct MatmulCase : products::ProductCase {
  MatmulProblem problem;
  bool ip = false;   // inner-product primitive, with n x k weights
  bool any = false;  // the library chooses the memory orders (fwd only)

  bool operator==(const MatmulCase&) const = default;
};

// Returns the sizes of the case. Each column is a channel of the destination.
products::ProductSizes SizesOf(const MatmulCase& matmul);

// Returns the matrix product of a call. With `ip` the weights are stored as n x k.
MatmulProduct ProductOf(const MatmulCase& matmul);

// Returns the element type of a matrix.
std::string_view TypeOf(const products::ProductTypes& types, Matrix matrix);

// Returns all options in the order of names. A backend accepts all or some of these rows.
const workload::OptionRows& MatmulOptions();

// Parses a name. Throws BadInput with the column, counted from the start of the benchmark's full
// name, if ReadProductCase does, for an invalid problem, or for an option that the direction, the
// type or the problem excludes.
MatmulCase ReadMatmulCase(const workload::BenchmarkName& name,
                          const products::ProductCapabilities& capabilities);

// Parses a name of Matmul/cpu/onednn.
MatmulCase ReadOnednnMatmulCase(const workload::BenchmarkName& name);

}  // namespace dlroof::matmul
