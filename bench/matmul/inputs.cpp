#include "bench/matmul/inputs.h"

#include <algorithm>
#include <cmath>

#include "bench/workload/seeded_values.h"

namespace dlroof {
namespace {

constexpr float kMostU8 = 127;
constexpr float kMostS8 = 63;

bool EightBits(std::string_view type) { return type == "u8" || type == "s8"; }

struct Range {
  float low, high;
};
struct IntegerRanges {
  Range a, b;
};

// Returns the ranges of A and of B over `step`, of which B's values are multiples.
IntegerRanges RangesOf(const MatmulCase& matmul, float step) {
  const auto root = static_cast<float>(std::sqrt(matmul.problem.k));
  const bool is_signed = matmul.types.source == "s8";
  if (EightBits(matmul.types.destination) && !matmul.scales) {
    // The sums' deviation is root x high x 0.47 x step, which is 60 here.
    const float high =
        std::clamp(std::round(127 / (step * root)), 1.0F, is_signed ? kMostS8 : kMostU8);
    return {{is_signed ? -high : 0, high}, {-1, 1}};
  }
  if (is_signed) return {{-kMostS8, kMostS8}, {-kMostS8 / step, kMostS8 / step}};
  // The sums have mean k x 63.5 x m and deviation 2,700 root, where m is B's mean. This m puts zero
  // two deviations below the mean.
  return {{0, kMostU8}, {std::min(0.0F, -kMostS8 + 168 / root) / step, kMostS8 / step}};
}

MatmulInputs IntegerInputs(const MatmulCase& matmul, uint64_t seed) {
  // Without VNNI oneDNN halves and rounds the weights beside an s8 source, then doubles the sums.
  const float step = matmul.types.source == "s8" ? 2.0F : 1.0F;
  const auto ranges = RangesOf(matmul, step);
  MatmulInputs inputs;
  inputs.a = SeededValues(CountA(matmul.problem), 4 * seed, matmul.types.source, ranges.a.low,
                          ranges.a.high);
  inputs.b = SeededValues(CountB(matmul.problem), 4 * seed + 1, "s8", ranges.b.low, ranges.b.high);
  for (float& value : inputs.b) value *= step;
  return inputs;
}

MatmulInputs FloatInputs(const MatmulCase& matmul, uint64_t seed) {
  const auto& p = matmul.problem;
  const auto values = [&](int64_t count, std::string_view type, uint64_t matrix) {
    return SeededValues(count, 4 * seed + matrix, type == "f64" ? "f32" : type, -1, 1);
  };
  MatmulInputs inputs;
  const Matrix result = ProductOf(matmul).result;
  if (result != Matrix::kA) inputs.a = values(CountA(p), matmul.types.source, 0);
  if (result != Matrix::kB) inputs.b = values(CountB(p), matmul.types.weights, 1);
  if (result != Matrix::kC) inputs.c = values(CountC(p), matmul.types.destination, 2);
  return inputs;
}

}  // namespace

MatmulScales MatmulScalesOf(const MatmulCase& matmul) {
  MatmulScales scales;
  if (!matmul.scales) return scales;
  scales.source = 0.5F;
  // Alternating, so that a column's scale taken for its neighbour's shows.
  scales.weights.resize(static_cast<size_t>(matmul.problem.n));
  for (size_t i = 0; i < scales.weights.size(); ++i) scales.weights[i] = i % 2 == 0 ? 0.5F : 0.25F;
  if (!EightBits(matmul.types.destination)) return scales;
  // From zero to five deviations of 2,700 sqrt(k) in 256 steps, where both scales are 1/2.
  const double root = std::sqrt(static_cast<double>(matmul.problem.k));
  scales.destination =
      static_cast<float>(std::exp2(std::round(std::log2(0.25 * 5 * 2700.0 / 256 * root))));
  return scales;
}

MatmulInputs SeededMatmulInputs(const MatmulCase& matmul, uint64_t seed) {
  auto inputs = IsInt8(matmul.types) ? IntegerInputs(matmul, seed) : FloatInputs(matmul, seed);
  if (matmul.bias && matmul.direction == MatmulDirection::kForward) {
    const auto type = BiasType(matmul.types);
    // Beside integers whole numbers that matter, so that exact sums stay exact.
    const float most = IsInt8(matmul.types) ? 16 * MatmulScalesOf(matmul).destination : 1;
    inputs.bias =
        SeededValues(matmul.problem.n, 4 * seed + 3, type == "f64" ? "f32" : type, -most, most);
    if (IsInt8(matmul.types))
      for (float& value : inputs.bias) value = std::round(value);
  }
  return inputs;
}

}  // namespace dlroof
