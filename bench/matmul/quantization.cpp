// Integer weights of products with a floating-point source: scales, zero points, and the weights.
#include <cmath>

#include "bench/matmul/case.h"
#include "bench/workload/memory.h"

namespace dlroof::matmul {
namespace {

// Returns the number of scales.
int64_t Groups(const MatmulCase& matmul) {
  return matmul.group == 0 ? 0 : matmul.problem.k / matmul.group * matmul.problem.n;
}

}  // namespace

Quantization QuantizationOf(const MatmulCase& matmul) {
  Quantization found;
  if (matmul.group == 0) return found;
  constexpr uint64_t kSeed = 1;
  const auto& [type, low, high] = *workload::FindIntegerWeights(matmul.types.weights);
  // The exponents -1.49 to 1.49 round to -1, 0 and 1 about equally often. Weights are up to
  // about 2.
  const float exponent = workload::IsByte(type) ? -7 : -3;
  found.scales = workload::SeededValues(Groups(matmul), kSeed, "f32", -1.49F, 1.49F);
  for (float& scale : found.scales) scale = std::exp2(std::round(scale) + exponent);
  if (matmul.zero_points)
    found.zero_points = workload::SeededValues(Groups(matmul), kSeed + 1, type, low, high);
  return found;
}

double QuantizationBytes(const MatmulCase& matmul) {
  const int64_t count = Groups(matmul);
  return static_cast<double>(
      workload::StoredBytes(count, matmul.types.source) +
      (matmul.zero_points ? workload::StoredBytes(count, matmul.types.weights) : 0));
}

void Expand(const MatmulCase& matmul, std::vector<float>& b) {
  const auto [scales, zero_points] = QuantizationOf(matmul);
  const auto& p = matmul.problem;
  for (int64_t index = 0; index < CountB(p); ++index) {
    const int64_t of_pair = index % (p.k * p.n);
    const int64_t step = p.transposed_b ? of_pair % p.k : of_pair / p.n;
    const int64_t column = p.transposed_b ? of_pair / p.k : of_pair % p.n;
    const auto group = static_cast<size_t>(step / matmul.group * p.n + column);
    float& weight = b[static_cast<size_t>(index)];
    if (!zero_points.empty()) weight -= zero_points[group];
    weight *= scales[group];
  }
}

}  // namespace dlroof::matmul
