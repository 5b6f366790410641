// Every direction of a matmul as one product of matrices in memory.
#pragma once

#include <cstdint>

#include "bench/matmul/problem.h"
#include "counters/direction.h"

namespace dlroof::matmul {

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

}  // namespace dlroof::matmul
