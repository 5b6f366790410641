#include "bench/products/inputs.h"

#include <algorithm>
#include <cmath>

#include "bench/workload/seeded_values.h"

namespace dlroof::products {
namespace {

constexpr float kMostU8 = 127;
constexpr float kMostS8 = 63;

// Returns 2 beside an s8 source, else 1: weights are multiples of it.
// Without VNNI oneDNN's reorder halves weights beside s8 and rounds them; the primitive doubles
// its sums again. An odd weight is then off by one, and 1 becomes 0.
// https://oneapi-src.github.io/oneDNN/dev_guide_int8_computations.html, section 2. benchdnn's
// weights are even for the same reason (tests/benchdnn/conv/cfg.cpp, v3.2).
float WeightsStep(const ProductCase& one) { return one.types.source == "s8" ? 2.0F : 1.0F; }

struct Range {
  float low, high;
};
struct IntegerRanges {
  Range source, weights;
};

IntegerRanges RangesOf(const ProductCase& one, const ProductSizes& sizes) {
  const auto root = static_cast<float>(std::sqrt(sizes.terms));
  const bool is_signed = one.types.source == "s8";
  if (IsByte(one.types.destination) && !one.scales) {
    // From `high` and a third for uniform numbers, two thirds for -1, 0, 1: deviation root x high x
    // 0.47 x step, which is 60 here.
    const float step = WeightsStep(one);
    const float high =
        std::clamp(std::round(127 / (step * root)), 1.0F, is_signed ? kMostS8 : kMostU8);
    return {{is_signed ? -high : 0, high}, {-step, step}};
  }
  if (is_signed) return {{-kMostS8, kMostS8}, {-kMostS8, kMostS8}};
  // Sums have mean terms x 63.5 x m and deviation 2,700 root, m the weights' mean: this m puts zero
  // two deviations below the mean.
  return {{0, kMostU8}, {std::min(0.0F, -kMostS8 + 168 / root), kMostS8}};
}

// Alternating, so that a channel's scale taken for its neighbour's shows.
std::vector<float> WeightScales(int64_t channels) {
  std::vector<float> scales(static_cast<size_t>(channels));
  for (size_t k = 0; k < scales.size(); ++k) scales[k] = k % 2 == 0 ? 0.5F : 0.25F;
  return scales;
}

ProductInputs IntegerInputs(const ProductCase& one, const ProductSizes& sizes, uint64_t seed) {
  const auto ranges = RangesOf(one, sizes);
  ProductInputs inputs;
  inputs.source =
      workload::SeededValues(sizes.source, 4 * seed, one.types.source, ranges.source.low, ranges.source.high);
  const float step = WeightsStep(one);
  inputs.weights = workload::SeededValues(sizes.weights, 4 * seed + 1, "s8", ranges.weights.low / step,
                                ranges.weights.high / step);
  for (float& weight : inputs.weights) weight *= step;
  return inputs;
}

ProductInputs FloatInputs(const ProductCase& one, const ProductSizes& sizes, uint64_t seed) {
  const auto values = [&](int64_t count, std::string_view type, uint64_t tensor) {
    return workload::SeededValues(count, 4 * seed + tensor, type == "f64" ? "f32" : type, -1, 1);
  };
  ProductInputs inputs;
  if (one.direction != ProductDirection::kBackwardData)
    inputs.source = values(sizes.source, one.types.source, 0);
  if (one.direction != ProductDirection::kBackwardWeights)
    inputs.weights = values(sizes.weights, one.types.weights, 1);
  if (one.direction != ProductDirection::kForward)
    inputs.destination = values(sizes.destination, one.types.destination, 2);
  return inputs;
}

}  // namespace

ProductScales ScalesOf(const ProductCase& one, const ProductSizes& sizes) {
  ProductScales scales;
  if (!one.scales) return scales;
  scales.source = 0.5F;
  scales.weights = WeightScales(sizes.channels);
  if (!IsByte(one.types.destination)) return scales;
  // From zero to five deviations of 2,700 sqrt(terms) in 256 steps, where both scales are 1/2.
  const double root = std::sqrt(static_cast<double>(sizes.terms));
  scales.destination =
      static_cast<float>(std::exp2(std::round(std::log2(0.25 * 5 * 2700.0 / 256 * root))));
  return scales;
}

ProductInputs SeededInputs(const ProductCase& one, const ProductSizes& sizes, uint64_t seed) {
  const bool whole = IsInt8(one.types);
  auto inputs = whole ? IntegerInputs(one, sizes, seed) : FloatInputs(one, sizes, seed);
  if (one.bias && one.direction == ProductDirection::kForward) {
    const auto type = BiasType(one.types);
    // Beside integers whole numbers that matter, so that exact sums stay exact.
    const float most = whole ? 16 * ScalesOf(one, sizes).destination : 1;
    inputs.bias =
        workload::SeededValues(sizes.channels, 4 * seed + 3, type == "f64" ? "f32" : type, -most, most);
    if (whole)
      for (float& value : inputs.bias) value = std::round(value);
  }
  return inputs;
}

}  // namespace dlroof::products
