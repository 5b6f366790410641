// Matmul in plain loops: the reference for every other implementation, and a benchmark itself.
#pragma once

#include <algorithm>
#include <vector>

#include "bench/matmul/case.h"
#include "bench/products/case.h"
#include "bench/products/check.h"

namespace dlroof::matmul {

// A, B and C are the source, the weights and the destination, each in its order in memory.
template <class Arrays>
auto& MatrixOf(Arrays& arrays, Matrix matrix) {
  return matrix == Matrix::kA   ? arrays.source
         : matrix == Matrix::kB ? arrays.weights
                                : arrays.destination;
}

// Returns zeroed arrays of the problem's sizes.
template <class Number>
products::ProductArrays<Number> ZeroMatrices(const MatmulProblem& p) {
  return {std::vector<Number>(static_cast<size_t>(CountA(p))),
          std::vector<Number>(static_cast<size_t>(CountB(p))),
          std::vector<Number>(static_cast<size_t>(CountC(p)))};
}

// Computes the product's result from its two factors.
template <class Number>
void RunProduct(const MatmulProduct& p, products::ProductArrays<Number>& arrays) {
  const Number* const left = MatrixOf(arrays, p.left.matrix).data();
  const Number* const right = MatrixOf(arrays, p.right.matrix).data();
  auto& result = MatrixOf(arrays, p.result);
  std::ranges::fill(result, Number{});
  for (int64_t pair = 0; pair < p.batch; ++pair)
    for (int64_t row = 0; row < p.rows; ++row) {
      Number* const sums = result.data() + (pair * p.rows + row) * p.columns;
      for (int64_t step = 0; step < p.depth; ++step)
        for (int64_t column = 0; column < p.columns; ++column)
          sums[column] +=
              left[p.LeftIndex(pair, row, step)] * right[p.RightIndex(pair, step, column)];
    }
}

// RunProduct followed by products::AddVariant (bias, relu, the gradient of the bias).
template <class Number>
void RunMatmulCase(const MatmulCase& matmul, products::ProductArrays<Number>& arrays) {
  RunProduct(ProductOf(matmul), arrays);
  const auto columns = static_cast<size_t>(matmul.problem.n);
  products::AddVariant(
      matmul, matmul.problem.n, [=](size_t i) { return i % columns; }, arrays);
}

// Returns the result of a case for its check. A sample contains every corner.
products::ProductResult ResultOf(const MatmulCase& matmul, const products::ProductInputs& inputs);

// `index` is the position in the result's memory.
products::ProductElement MatmulElementAt(const MatmulProduct& product,
                                         const products::ProductInputs& inputs, int64_t index);

}  // namespace dlroof::matmul
