#include "bench/matmul/loops.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "bench/workload/memory.h"

namespace dlroof::matmul {
namespace {

// Returns the bias gradient of one column of C, which has n columns.
workload::ProductElement BiasGradientAt(int64_t n, const workload::ProductInputs& inputs,
                                        int64_t column) {
  const auto& c = inputs.destination;
  workload::ProductElement sum;
  for (auto i = static_cast<size_t>(column); i < c.size(); i += static_cast<size_t>(n))
    sum.Add(double{c[i]});
  return sum;
}

// Returns the indices of the eight corners and of `count` - 8 seeded elements.
std::vector<int64_t> SampledIndices(const MatmulProduct& p, int64_t count, uint64_t seed) {
  std::vector<int64_t> indices;
  for (const int64_t pair : {int64_t{0}, p.batch - 1})
    for (const int64_t row : {int64_t{0}, p.rows - 1})
      for (const int64_t column : {int64_t{0}, p.columns - 1})
        indices.push_back((pair * p.rows + row) * p.columns + column);
  const auto random = workload::SeededIndices(count - 8, seed, p.batch * p.rows * p.columns);
  indices.insert(indices.end(), random.begin(), random.end());
  return indices;
}

}  // namespace

void RunMatmulCase(const MatmulCase& matmul, workload::ProductArrays<double>& arrays) {
  const auto p = ProductOf(matmul);
  const double* const left = MatrixOf(arrays, p.left.matrix).data();
  const double* const right = MatrixOf(arrays, p.right.matrix).data();
  auto& result = MatrixOf(arrays, p.result);
  std::ranges::fill(result, 0.0);
  for (int64_t pair = 0; pair < p.batch; ++pair)
    for (int64_t row = 0; row < p.rows; ++row) {
      double* const sums = result.data() + (pair * p.rows + row) * p.columns;
      for (int64_t step = 0; step < p.depth; ++step)
        for (int64_t column = 0; column < p.columns; ++column)
          sums[column] +=
              left[p.LeftIndex(pair, row, step)] * right[p.RightIndex(pair, step, column)];
    }
  const auto columns = static_cast<size_t>(matmul.problem.n);
  workload::AddVariant(
      matmul, matmul.problem.n, [=](size_t i) { return i % columns; }, arrays);
}

workload::ProductElement MatmulElementAt(const MatmulProduct& p,
                                         const workload::ProductInputs& inputs, int64_t index) {
  const int64_t column = index % p.columns;
  const int64_t row = index / p.columns % p.rows;
  const int64_t pair = index / (p.columns * p.rows);
  const float* const left = MatrixOf(inputs, p.left.matrix).data();
  const float* const right = MatrixOf(inputs, p.right.matrix).data();
  workload::ProductElement sum;
  for (int64_t step = 0; step < p.depth; ++step)
    sum.Add(double{left[p.LeftIndex(pair, row, step)]} *
            double{right[p.RightIndex(pair, step, column)]});
  return sum;
}

workload::ProductResult ResultOf(const MatmulCase& matmul, const workload::ProductInputs& inputs) {
  const auto p = ProductOf(matmul);
  std::function<workload::ProductElement(int64_t)> element = [p, &inputs](int64_t index) {
    return MatmulElementAt(p, inputs, index);
  };
  if (matmul.group > 0) {
    const auto expanded = std::make_shared<workload::ProductInputs>(inputs);
    Expand(matmul, expanded->weights);
    element = [p, expanded](int64_t index) { return MatmulElementAt(p, *expanded, index); };
  }
  return {p.batch * p.rows * p.columns,
          p.depth,
          [p](int64_t count, uint64_t seed) { return SampledIndices(p, count, seed); },
          std::move(element),
          [n = matmul.problem.n](int64_t index) { return index % n; },
          [n = matmul.problem.n, &inputs](int64_t column) {
            return BiasGradientAt(n, inputs, column);
          }};
}

namespace {

[[maybe_unused]] const bool reference_registered = workload::RegisterLoops<MatmulCase>(
    "Matmul",
    {ReadMatmulCase, {{"bias"}, {"sum"}, {"relu", "gelu_erf", "gelu_tanh"}}, RunMatmulCase});

}  // namespace
}  // namespace dlroof::matmul
