#include "bench/conv2d/inputs.h"

#include <algorithm>
#include <cmath>

#include "bench/workload/seeded_values.h"

namespace dlroof {
namespace {

constexpr float kMostU8 = 127;
constexpr float kMostS8 = 63;

bool EightBits(std::string_view type) { return type == "u8" || type == "s8"; }

double ForwardTaps(const Conv2dProblem& p) {
  return static_cast<double>(TapsPerOutput(p, Conv2dDirection::kForward));
}

// Returns 2 beside an s8 source, else 1: weights are multiples of it.
// Without VNNI oneDNN's reorder halves weights beside s8 and rounds them; the convolution doubles
// its sums again. An odd weight is then off by one, and 1 becomes 0.
// https://oneapi-src.github.io/oneDNN/dev_guide_int8_computations.html, section 2. benchdnn's
// weights are even for the same reason (tests/benchdnn/conv/cfg.cpp, v3.2).
float WeightsStep(const Conv2dCase& conv) { return conv.types.source == "s8" ? 2.0F : 1.0F; }

struct Range {
  float low, high;
};
struct IntegerRanges {
  Range source, weights;
};

IntegerRanges RangesOf(const Conv2dCase& conv) {
  const auto root = static_cast<float>(std::sqrt(ForwardTaps(conv.problem)));
  const bool is_signed = conv.types.source == "s8";
  if (EightBits(conv.types.destination) && !conv.scales) {
    // Of `high` and a third for uniform numbers, two thirds for -1, 0, 1: deviation root x high x
    // 0.47 x step, which is 60 here.
    const float step = WeightsStep(conv);
    const float high =
        std::clamp(std::round(127 / (step * root)), 1.0F, is_signed ? kMostS8 : kMostU8);
    return {{is_signed ? -high : 0, high}, {-step, step}};
  }
  if (is_signed) return {{-kMostS8, kMostS8}, {-kMostS8, kMostS8}};
  // Sums have mean taps x 63.5 x m and deviation 2,700 root, m the weights' mean: this m puts zero
  // two deviations below the mean.
  return {{0, kMostU8}, {std::min(0.0F, -kMostS8 + 168 / root), kMostS8}};
}

// Alternating, so that a filter's scale taken for its neighbour's shows.
std::vector<float> WeightScales(int64_t filters) {
  std::vector<float> scales(static_cast<size_t>(filters));
  for (size_t k = 0; k < scales.size(); ++k) scales[k] = k % 2 == 0 ? 0.5F : 0.25F;
  return scales;
}

Conv2dInputs IntegerInputs(const Conv2dCase& conv, uint64_t seed) {
  const auto ranges = RangesOf(conv);
  Conv2dInputs inputs;
  inputs.source = SeededValues(SourceCount(conv.problem), 4 * seed, conv.types.source,
                               ranges.source.low, ranges.source.high);
  const float step = WeightsStep(conv);
  inputs.weights = SeededValues(WeightsCount(conv.problem), 4 * seed + 1, "s8",
                                ranges.weights.low / step, ranges.weights.high / step);
  for (float& weight : inputs.weights) weight *= step;
  return inputs;
}

Conv2dInputs FloatInputs(const Conv2dCase& conv, uint64_t seed) {
  const auto& p = conv.problem;
  const auto values = [&](int64_t count, std::string_view type, uint64_t tensor) {
    return SeededValues(count, 4 * seed + tensor, type == "f64" ? "f32" : type, -1, 1);
  };
  Conv2dInputs inputs;
  if (conv.direction != Conv2dDirection::kBackwardData)
    inputs.source = values(SourceCount(p), conv.types.source, 0);
  if (conv.direction != Conv2dDirection::kBackwardWeights)
    inputs.weights = values(WeightsCount(p), conv.types.weights, 1);
  if (conv.direction != Conv2dDirection::kForward)
    inputs.destination = values(DestinationCount(p), conv.types.destination, 2);
  return inputs;
}

}  // namespace

Conv2dScales Conv2dScalesOf(const Conv2dCase& conv) {
  Conv2dScales scales;
  if (!conv.scales) return scales;
  scales.source = 0.5F;
  scales.weights = WeightScales(conv.problem.k);
  if (!EightBits(conv.types.destination)) return scales;
  // From zero to five deviations of 2,700 sqrt(taps) in 256 steps, where both scales are 1/2.
  const double root = std::sqrt(ForwardTaps(conv.problem));
  scales.destination =
      static_cast<float>(std::exp2(std::round(std::log2(0.25 * 5 * 2700.0 / 256 * root))));
  return scales;
}

Conv2dInputs SeededConv2dInputs(const Conv2dCase& conv, uint64_t seed) {
  auto inputs = IsInt8(conv.types) ? IntegerInputs(conv, seed) : FloatInputs(conv, seed);
  if (conv.bias && conv.direction == Conv2dDirection::kForward) {
    const auto type = BiasType(conv.types);
    // Beside integers whole numbers that matter, so that exact sums stay exact.
    const float most = IsInt8(conv.types) ? 16 * Conv2dScalesOf(conv).destination : 1;
    inputs.bias =
        SeededValues(conv.problem.k, 4 * seed + 3, type == "f64" ? "f32" : type, -most, most);
    if (IsInt8(conv.types))
      for (float& value : inputs.bias) value = std::round(value);
  }
  return inputs;
}

}  // namespace dlroof
