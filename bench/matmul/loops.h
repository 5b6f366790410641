// The reference loops of Matmul, also the benchmark Matmul/cpu/reference.
#pragma once

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

// Computes the case's result from the stored layouts of its two factors, then applies bias, sum and
// activation function (workload::AddVariant).
void RunMatmulCase(const MatmulCase& matmul, workload::ProductArrays<double>& arrays);

// Returns the case's correct results for workload::CheckOutput. Samples contain every corner.
workload::ProductResult ResultOf(const MatmulCase& matmul, const workload::ProductInputs& inputs);

// Returns one element of the product. `index` is its position in the stored result.
workload::ProductElement MatmulElementAt(const MatmulProduct& product,
                                         const workload::ProductInputs& inputs, int64_t index);

}  // namespace dlroof::matmul
