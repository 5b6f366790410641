// The reference loops of Matmul, also the benchmark Matmul/cpu/reference.
#pragma once

#include <algorithm>
#include <vector>

#include "bench/matmul/case.h"
#include "bench/workload/products.h"

namespace dlroof::matmul {

// Returns the array that holds a matrix: A is the source, B the weights, C the destination.
template <class Arrays>
auto& MatrixOf(Arrays& arrays, Matrix matrix) {
  return matrix == Matrix::kA   ? arrays.source
         : matrix == Matrix::kB ? arrays.weights
                                : arrays.destination;
}

template <class Number>
workload::ProductArrays<Number> ZeroMatrices(const MatmulProblem& p) {
  return {std::vector<Number>(static_cast<size_t>(CountA(p))),
          std::vector<Number>(static_cast<size_t>(CountB(p))),
          std::vector<Number>(static_cast<size_t>(CountC(p)))};
}

// Computes the product from the stored layouts of its two factors.
template <class Number>
void RunProduct(const MatmulProduct& p, workload::ProductArrays<Number>& arrays) {
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

// Runs RunProduct, then applies bias, sum and activation function (workload::AddVariant).
template <class Number>
void RunMatmulCase(const MatmulCase& matmul, workload::ProductArrays<Number>& arrays) {
  RunProduct(ProductOf(matmul), arrays);
  const auto columns = static_cast<size_t>(matmul.problem.n);
  workload::AddVariant(
      matmul, matmul.problem.n, [=](size_t i) { return i % columns; }, arrays);
}

// Returns the case's correct results for workload::CheckOutput. Samples contain every corner.
workload::ProductResult ResultOf(const MatmulCase& matmul, const workload::ProductInputs& inputs);

// Returns one element of the product. `index` is its position in the stored result.
workload::ProductElement MatmulElementAt(const MatmulProduct& product,
                                         const workload::ProductInputs& inputs, int64_t index);

}  // namespace dlroof::matmul
