// matmul in plain loops: the yardstick for every other implementation, and a benchmark itself.
#pragma once

#include <algorithm>
#include <vector>

#include "bench/matmul/case.h"
#include "bench/matmul/product.h"

namespace dlroof {

// The three matrices in their order in memory. A call reads two and writes one.
template <class Number>
struct MatmulArrays {
  std::vector<Number> a, b, c;
  std::vector<Number> bias = {};  // n; empty: the call has none

  std::vector<Number>& Of(Matrix matrix) {
    return matrix == Matrix::kA ? a : matrix == Matrix::kB ? b : c;
  }
  const std::vector<Number>& Of(Matrix matrix) const {
    return matrix == Matrix::kA ? a : matrix == Matrix::kB ? b : c;
  }
};
// The inputs of a direction. The written matrix is empty.
using MatmulInputs = MatmulArrays<float>;

// Returns arrays of the problem's sizes, all zero.
template <class Number>
MatmulArrays<Number> ZeroMatrices(const MatmulProblem& p) {
  return {std::vector<Number>(static_cast<size_t>(CountA(p))),
          std::vector<Number>(static_cast<size_t>(CountB(p))),
          std::vector<Number>(static_cast<size_t>(CountC(p)))};
}

// Writes the product's result from its two factors.
template <class Number>
void RunProduct(const MatmulProduct& p, MatmulArrays<Number>& arrays) {
  const Number* const left = arrays.Of(p.left.matrix).data();
  const Number* const right = arrays.Of(p.right.matrix).data();
  auto& result = arrays.Of(p.result);
  std::fill(result.begin(), result.end(), Number{});
  for (int64_t pair = 0; pair < p.batch; ++pair)
    for (int64_t row = 0; row < p.rows; ++row) {
      Number* const sums = result.data() + (pair * p.rows + row) * p.columns;
      for (int64_t step = 0; step < p.depth; ++step)
        for (int64_t column = 0; column < p.columns; ++column)
          sums[column] +=
              left[p.LeftIndex(pair, row, step)] * right[p.RightIndex(pair, step, column)];
    }
}

inline double Relu(double value) { return value > 0 ? value : 0; }

// Runs the product, then what the variant adds: bias, relu, the gradient of the bias.
template <class Number>
void RunMatmulCase(const MatmulCase& matmul, MatmulArrays<Number>& arrays) {
  RunProduct(ProductOf(matmul), arrays);
  const bool forward = matmul.direction == MatmulDirection::kForward;
  const auto columns = static_cast<size_t>(matmul.problem.n);
  if (matmul.bias && !forward) arrays.bias.assign(columns, Number{});
  for (size_t i = 0; matmul.bias && i < arrays.c.size(); ++i) {
    Number& bias = arrays.bias[i % columns];
    if (forward)
      arrays.c[i] += bias;
    else
      bias += arrays.c[i];
  }
  if (matmul.relu)
    for (auto& value : arrays.c) value = Relu(value);
}

// One element of a result, summed by itself.
struct MatmulElement {
  double value = 0;      // the sum of its products, in double
  double magnitude = 0;  // the sum of their absolute values: the scale of its rounding error
};

// `index`: position in the result's memory.
MatmulElement MatmulElementAt(const MatmulProduct& product, const MatmulInputs& inputs,
                              int64_t index);

// Returns the gradient of one column's bias, with n columns in all.
MatmulElement MatmulBiasGradientAt(int64_t n, const MatmulInputs& inputs, int64_t column);

}  // namespace dlroof
