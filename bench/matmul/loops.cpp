#include "bench/matmul/loops.h"

#include <cmath>

namespace dlroof {
namespace {

void Add(MatmulElement& sum, double value) {
  sum.value += value;
  sum.magnitude += std::fabs(value);
}

}  // namespace

MatmulElement MatmulElementAt(const MatmulProduct& p, const MatmulInputs& inputs, int64_t index) {
  const int64_t column = index % p.columns;
  const int64_t row = index / p.columns % p.rows;
  const int64_t pair = index / (p.columns * p.rows);
  const float* const left = inputs.Of(p.left.matrix).data();
  const float* const right = inputs.Of(p.right.matrix).data();
  MatmulElement sum;
  for (int64_t step = 0; step < p.depth; ++step)
    Add(sum, double{left[p.LeftIndex(pair, row, step)]} *
                 double{right[p.RightIndex(pair, step, column)]});
  return sum;
}

MatmulElement MatmulBiasGradientAt(int64_t n, const MatmulInputs& inputs, int64_t column) {
  MatmulElement sum;
  for (auto i = static_cast<size_t>(column); i < inputs.c.size(); i += static_cast<size_t>(n))
    Add(sum, double{inputs.c[i]});
  return sum;
}

}  // namespace dlroof
