// The Matmul problem (its shape, its text, and its FLOPs in closed form), each direction as one
// product of matrices in memory, and the parsed benchmark name: problem, direction, types, options.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/products/case.h"
#include "bench/workload/benchmark_name.h"
#include "bench/workload/workload.h"
#include "counters/work.h"

namespace dlroof::matmul {

// C = A B for each of b pairs of matrices: A is m x k, B is k x n, C is m x n. All sizes are in
// elements. A matrix is stored in row-major order, a transposed one in column-major order.
struct MatmulProblem {
  int64_t b = 1, m = 1, n = 1, k = 1;
  bool transposed_a = false;  // memory has the k x m matrix
  bool transposed_b = false;  // memory has the n x k matrix

  bool operator==(const MatmulProblem&) const = default;
};

// Return the number of elements of all b matrices [1].
int64_t CountA(const MatmulProblem& problem);
int64_t CountB(const MatmulProblem& problem);
int64_t CountC(const MatmulProblem& problem);

// Returns "b12m128n128k64_tB". A batch of 1 is left out.
std::string ToText(const MatmulProblem& problem);

// The inverse of ToText; each problem has one text. Throws BadInput with the column (from 1, plus
// `column_offset`) of the first bad character, or with the problem's first column if counts, bytes
// or FLOPs overflow 64 bits.
MatmulProblem ParseMatmul(std::string_view text, int column_offset = 0);

// Returns 2 b m n k [flop], in every direction.
int64_t DenseFlops(const MatmulProblem& problem);

enum class Matrix { kA, kB, kC };  // a matrix or its gradient

struct Factor {
  Matrix matrix = Matrix::kA;
  bool transposed = false;  // memory has the transpose of the factor in row-major order

  bool operator==(const Factor&) const = default;
};

// `batch` products result = left x right of a rows x depth by a depth x columns matrix.
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
// the same order in memory as its matrix. If that is transposed, so is the whole equation.
MatmulProduct ProductOf(const MatmulProblem& problem, ProductDirection direction);

// A is the source, B the weights, C the destination.
struct MatmulCase : products::ProductCase {
  MatmulProblem problem;
  bool ip = false;   // uses the library's inner product, which has n x k weights
  bool any = false;  // the library chooses the order of every matrix (fwd only)

  bool operator==(const MatmulCase&) const = default;
};

// Each column is a channel of C.
products::ProductSizes SizesOf(const MatmulCase& matmul);

// Returns the product that a call computes. With `ip` memory has the weights as n x k.
MatmulProduct ProductOf(const MatmulCase& matmul);

// Returns the element type of a matrix.
std::string_view TypeOf(const products::ProductTypes& types, Matrix matrix);

// All options in the order of a name. A backend offers all or some of these rows.
const workload::OptionRows& MatmulOptions();

// Throws BadInput with the column in the whole name for what ReadProductCase refuses, an invalid
// problem, or an option that the direction, the type or the problem excludes.
MatmulCase ReadMatmulCase(const workload::BenchmarkName& name,
                          const products::ProductCapabilities& capabilities);

// Reads a name of Matmul/cpu/onednn.
MatmulCase ReadOnednnMatmulCase(const workload::BenchmarkName& name);

}  // namespace dlroof::matmul
