#include "bench/conv2d_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "bench/seeded_values.h"

namespace dlroof {
namespace {

constexpr int64_t kAllBelowFlops = 50'000'000;
// Products that a sampled check may cost, about 0.1 s.
constexpr int64_t kSampledTaps = 60'000'000;
constexpr int64_t kLeastSamples = 64;
constexpr int64_t kMostSamples = 512;

// With zero-mean inputs the partial sums wander like the square root of their length, and so do
// their rounding errors: about one unit of 2^-24 of the sum of absolute products, whatever the
// length. 64 units leave room for other orders of summation and still show one product missing
// among 250,000.
constexpr double kUnits = 64;

struct Rounding {
  std::string_view type;
  double sum;     // [1] unit in the last place of the sums, relative
  double result;  // [1] rounding of the result to its type, relative
};
constexpr std::array<Rounding, 4> kRoundings = {{{"f64", 0x1p-53, 0},
                                                 {"f32", 0x1p-24, 0},
                                                 {"bf16", 0x1p-24, 0x1p-8},
                                                 {"f16", 0x1p-24, 0x1p-11}}};

constexpr float kMostU8Input = 127;
constexpr float kMostS8Input = 63;

// Sizes of the result's dimensions in plain order.
std::array<int64_t, 4> ResultSizes(const Conv2dProblem& p, Conv2dDirection direction) {
  if (direction == Conv2dDirection::kForward) return {p.n, p.k, OutputHeight(p), OutputWidth(p)};
  if (direction == Conv2dDirection::kBackwardData) return {p.n, p.c, p.h, p.w};
  return {p.k, p.c / p.groups, p.r, p.s};
}

int64_t IndexOf(const std::array<int64_t, 4>& at, const std::array<int64_t, 4>& sizes) {
  return ((at[0] * sizes[1] + at[1]) * sizes[2] + at[2]) * sizes[3] + at[3];
}

// The sixteen corners; then seeded positions, every other one moved to one of the four borders of
// its image.
std::vector<int64_t> SampledIndices(const std::array<int64_t, 4>& sizes, int64_t count,
                                    uint64_t seed) {
  std::vector<int64_t> indices;
  for (unsigned corner = 0; corner < 16; ++corner) {
    std::array<int64_t, 4> at{};
    for (size_t i = 0; i < 4; ++i) at.at(i) = (corner >> i & 1U) != 0 ? sizes.at(i) - 1 : 0;
    indices.push_back(IndexOf(at, sizes));
  }
  const auto random = SeededIndices(count * 4, seed, std::numeric_limits<int64_t>::max());
  for (int64_t i = 16; i < count; ++i) {
    std::array<int64_t, 4> at{};
    for (size_t j = 0; j < 4; ++j) at.at(j) = random.at(i * 4 + j) % sizes.at(j);
    if (i % 2 == 0) {
      const auto border = static_cast<size_t>(i / 2 % 4);  // top, left, bottom, right
      at.at(2 + border % 2) = border < 2 ? 0 : sizes.at(2 + border % 2) - 1;
    }
    indices.push_back(IndexOf(at, sizes));
  }
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return indices;
}

// An element's error in units of what its type allows.
class ErrorOf {
 public:
  ErrorOf(const Conv2dProblem& problem, std::string_view type)
      : scale_(type == "int8" ? Int8DestinationScale(problem) : 1) {
    for (const auto& row : kRoundings)
      if (row.type == type) rounding_ = row;
    if (rounding_.type.empty() && type != "int8")
      throw std::logic_error(fmt::format("no rounding of type {}", type));
  }

  double operator()(double output, const Conv2dElement& right) const {
    if (!std::isfinite(output)) return std::numeric_limits<double>::max();
    if (rounding_.type.empty())
      return std::fabs(output - std::clamp(std::nearbyint(right.value / scale_), 0.0, 255.0));
    const double error = std::fabs(output - right.value);
    const double allowed =
        kUnits * rounding_.sum * right.magnitude + rounding_.result * std::fabs(right.value);
    if (error == 0) return 0;
    return allowed > 0 ? error / allowed : std::numeric_limits<double>::max();
  }

 private:
  double scale_;
  Rounding rounding_{};
};

template <class Number>
int64_t CountNotFinite(const std::vector<Number>& values) {
  return std::count_if(values.begin(), values.end(),
                       [](Number value) { return !std::isfinite(value); });
}

template <class Number>
Verification Check(const Conv2dProblem& p, Conv2dDirection direction, std::string_view type,
                   const Conv2dInputs& inputs, const std::vector<Number>& output, uint64_t seed) {
  const auto sizes = ResultSizes(p, direction);
  const auto count = static_cast<int64_t>(output.size());
  if (count != sizes[0] * sizes[1] * sizes[2] * sizes[3])
    throw std::logic_error(fmt::format("{} outputs of {}", count, ToText(p)));
  Verification found;
  found.tolerance = 1;
  const ErrorOf error(p, type);
  const auto compare = [&](int64_t index) {
    const auto right = Conv2dElementAt(p, direction, inputs, index);
    found.max_error = std::max(found.max_error, error(output[static_cast<size_t>(index)], right));
  };
  if (DenseFlops(p) <= kAllBelowFlops) {
    for (int64_t i = 0; i < count; ++i) compare(i);
    found.how = fmt::format("all {} outputs", count);
  } else {
    const auto samples = SampledIndices(
        sizes, std::clamp(kSampledTaps / TapsPerOutput(p, direction), kLeastSamples, kMostSamples),
        seed);
    for (const int64_t index : samples) compare(index);
    found.how = fmt::format("{} sampled outputs of {}", samples.size(), count);
  }
  found.ok = found.max_error <= found.tolerance;
  if (const int64_t lost = CountNotFinite(output); lost > 0) {
    found.ok = false;
    found.how += fmt::format("; {} of {} are not finite", lost, count);
  }
  return found;
}

}  // namespace

Conv2dInputs SeededConv2dInputs(const Conv2dProblem& p, Conv2dDirection direction,
                                std::string_view type, uint64_t seed) {
  Conv2dInputs inputs;
  if (type == "int8") {
    const auto taps = static_cast<float>(TapsPerOutput(p, Conv2dDirection::kForward));
    // Sums have mean taps x 63.5 x m and deviation 2,700 sqrt(taps), m the weights' mean: this m
    // puts zero two deviations below the mean.
    const float least = std::min(0.0F, -kMostS8Input + 168 / std::sqrt(taps));
    inputs.source = SeededValues(SourceCount(p), 3 * seed, "u8", 0, kMostU8Input);
    inputs.weights = SeededValues(WeightsCount(p), 3 * seed + 1, "s8", least, kMostS8Input);
    return inputs;
  }
  const auto values = [&](int64_t count, uint64_t tensor) {
    return SeededValues(count, 3 * seed + tensor, type == "f64" ? "f32" : type, -1, 1);
  };
  if (direction != Conv2dDirection::kBackwardData) inputs.source = values(SourceCount(p), 0);
  if (direction != Conv2dDirection::kBackwardWeights) inputs.weights = values(WeightsCount(p), 1);
  if (direction != Conv2dDirection::kForward) inputs.destination = values(DestinationCount(p), 2);
  return inputs;
}

float Int8DestinationScale(const Conv2dProblem& p) {
  const auto taps = static_cast<double>(TapsPerOutput(p, Conv2dDirection::kForward));
  // From zero to five deviations of 2,700 sqrt(taps) in 256 steps.
  return static_cast<float>(std::exp2(std::round(std::log2(5 * 2700.0 / 256 * std::sqrt(taps)))));
}

Verification CheckConv2d(const Conv2dProblem& p, Conv2dDirection direction, std::string_view type,
                         const Conv2dInputs& inputs, const std::vector<float>& output,
                         uint64_t seed) {
  return Check(p, direction, type, inputs, output, seed);
}

Verification CheckConv2d(const Conv2dProblem& p, Conv2dDirection direction, std::string_view type,
                         const Conv2dInputs& inputs, const std::vector<double>& output,
                         uint64_t seed) {
  return Check(p, direction, type, inputs, output, seed);
}

}  // namespace dlroof
