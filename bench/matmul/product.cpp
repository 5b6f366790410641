#include "bench/matmul/product.h"

namespace dlroof::matmul {

MatmulProduct ProductOf(const MatmulProblem& p, ProductDirection direction) {
  const bool a = p.transposed_a, b = p.transposed_b;
  if (direction == ProductDirection::kForward)
    return {p.b, p.m, p.n, p.k, {Matrix::kA, a}, {Matrix::kB, b}, Matrix::kC};
  if (direction == ProductDirection::kBackwardData) {
    if (a) return {p.b, p.k, p.m, p.n, {Matrix::kB, b}, {Matrix::kC, true}, Matrix::kA};
    return {p.b, p.m, p.k, p.n, {Matrix::kC, false}, {Matrix::kB, !b}, Matrix::kA};
  }
  if (b) return {p.b, p.n, p.k, p.m, {Matrix::kC, true}, {Matrix::kA, a}, Matrix::kB};
  return {p.b, p.k, p.n, p.m, {Matrix::kA, !a}, {Matrix::kC, false}, Matrix::kB};
}

}  // namespace dlroof::matmul
