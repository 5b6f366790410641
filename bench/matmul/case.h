// The matmul problem: its shape, its text, and its FLOPs by closed form.
//
// Every direction of a matmul as one product of matrices in memory.
//
// A parsed Matmul benchmark name: problem, direction, types, options.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/products/case.h"
#include "bench/workload/benchmark_name.h"
#include "bench/workload/workload.h"
#include "counters/work.h"

namespace dlroof::matmul {

// C = A B for each of b pairs of matrices: A is m x k, B is k x n, C is m x n. All sizes in
// elements. A matrix lies in memory row by row; a transposed one lies there column by column.
struct MatmulProblem {
  int64_t b = 1, m = 1, n = 1, k = 1;
  bool transposed_a = false;  // memory has the k x m matrix
  bool transposed_b = false;  // memory has the n x k matrix

  bool operator==(const MatmulProblem&) const = default;
};

// [1] elements of all b matrices.
int64_t CountA(const MatmulProblem& problem);
int64_t CountB(const MatmulProblem& problem);
int64_t CountC(const MatmulProblem& problem);

// Returns "b12m128n128k64_tB". A batch of 1 and matrices that are not transposed are left out.
std::string ToText(const MatmulProblem& problem);

// The inverse of ToText: each problem has one text. Throws BadInput with the column of the first
// bad character, counted from 1 + `column_offset`. Throws BadInput with the problem's first column
// where counts, bytes or FLOPs leave 64 bits.
MatmulProblem ParseMatmul(std::string_view text, int column_offset = 0);

// [flop] 2 b m n k in every direction.
int64_t DenseFlops(const MatmulProblem& problem);

enum class Matrix { kA, kB, kC };  // in a gradient: the matrix or its gradient

struct Factor {
  Matrix matrix = Matrix::kA;
  bool transposed = false;  // memory has the transpose of the factor, row by row

  bool operator==(const Factor&) const = default;
};

// result = left x right, `batch` times: rows x depth by depth x columns.
struct MatmulProduct {
  int64_t batch = 1, rows = 1, columns = 1, depth = 1;
  Factor left, right;
  Matrix result = Matrix::kC;  // always row by row in memory

  int64_t LeftIndex(int64_t pair, int64_t row, int64_t step) const {
    return pair * rows * depth + (left.transposed ? step * rows + row : row * depth + step);
  }
  int64_t RightIndex(int64_t pair, int64_t step, int64_t column) const {
    return pair * depth * columns +
           (right.transposed ? column * depth + step : step * columns + column);
  }

  bool operator==(const MatmulProduct&) const = default;
};

// Returns C = A B forward, dA = dC B^T backward by data, dB = A^T dC backward by weights. A
// gradient has its matrix's order in memory: where that is transposed, so is the whole equation.
MatmulProduct ProductOf(const MatmulProblem& problem, ProductDirection direction);

// A is the source, B the weights, C the destination.
struct MatmulCase : products::ProductCase {
  MatmulProblem problem;
  bool ip = false;   // by the library's inner product, which has n x k weights
  bool any = false;  // fwd: the library chooses the order of every matrix

  bool operator==(const MatmulCase&) const = default;
};

// A column is a channel of C.
products::ProductSizes SizesOf(const MatmulCase& matmul);

// The product that a call computes. With `ip` the weights lie in memory as n x k.
MatmulProduct ProductOf(const MatmulCase& matmul);

// The element type of a matrix.
std::string_view TypeOf(const products::ProductTypes& types, Matrix matrix);

// The options that exist, in the order of a name; a cell offers all or some of these rows.
const workload::OptionRows& MatmulOptions();

// Throws BadInput with the column within the whole name for what ReadProductCase refuses, a bad
// problem, or an option that the direction, the type or the problem cannot have.
MatmulCase ReadMatmulCase(const workload::BenchmarkName& name,
                          const products::ProductCapabilities& capabilities);

// Reads a name of Matmul/cpu/onednn.
MatmulCase ReadOnednnMatmulCase(const workload::BenchmarkName& name);

}  // namespace dlroof::matmul
