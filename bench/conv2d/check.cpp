#include "bench/conv2d/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "bench/workload/seeded_values.h"

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
  double least;   // [1] the same of its smallest numbers, absolute
};
// Tensor cores sum products of fp8 with fewer bits than an f32 has: about 14 on compute capability
// 9.0 (DeepSeek-V3's technical report, 3.3.2). 64 units are 2^-13 of the sum.
constexpr std::array<Rounding, 5> kRoundings = {{{"f64", 0x1p-53, 0, 0},
                                                 {"f32", 0x1p-24, 0, 0},
                                                 {"bf16", 0x1p-24, 0x1p-8, 0},
                                                 {"f16", 0x1p-24, 0x1p-11, 0},
                                                 {"e4m3", 0x1p-19, 0x1p-4, 0x1p-10}}};

struct IntegerRange {
  std::string_view type;
  double low, high;
  double reading;  // [1] relative error of reading one as f32
};
constexpr std::array<IntegerRange, 3> kIntegers = {
    {{"u8", 0, 255, 0}, {"s8", -128, 127, 0}, {"s32", -0x1p31, 0x1p31 - 1, 0x1p-23}}};

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

double FpmathRounding(std::string_view mode) {
  if (mode.empty()) return 0;
  if (mode == "tf32-truncated") return 0x1p-10;
  return mode == "bf16" || mode == "any" ? 0x1p-8 : 0x1p-11;
}

// What an element should be, and how far off it may be.
class Expected {
 public:
  Expected(const Conv2dCase& conv, const Conv2dInputs& inputs)
      : conv_(conv),
        inputs_(inputs),
        scales_(Conv2dScalesOf(conv)),
        image_(OutputHeight(conv.problem) * OutputWidth(conv.problem)) {
    const auto type = ResultType(conv);
    for (const auto& row : kRoundings)
      if (row.type == type) rounding_ = row;
    for (const auto& row : kIntegers)
      if (row.type == type) integer_ = row;
    if (rounding_.type.empty() && integer_.type.empty())
      throw std::logic_error(fmt::format("no rounding of type {}", type));
  }

  // Of the element at `index`, in units of what its type allows.
  double Error(int64_t index, double output) const {
    const auto sum = Conv2dElementAt(conv_.problem, conv_.direction, inputs_, index);
    return Error(conv_.direction == Conv2dDirection::kForward ? Finished(index, sum) : sum, output);
  }

  double BiasError(int64_t filter, double output) const {
    return Error(Conv2dBiasGradientAt(conv_.problem, inputs_, filter), output);
  }

 private:
  // What the forward pass does to a sum.
  Conv2dElement Finished(int64_t index, Conv2dElement element) const {
    const int64_t filter = index / image_ % conv_.problem.k;
    const double scale = double{scales_.source} * scales_.Weights(filter);
    const double bias = inputs_.bias.empty() ? 0 : inputs_.bias[static_cast<size_t>(filter)];
    element.value = element.value * scale + bias;
    if (conv_.relu) element.value = Relu(element.value);
    element.value /= scales_.destination;
    element.magnitude = (element.magnitude * scale + std::fabs(bias)) / scales_.destination;
    return element;
  }

  double Error(const Conv2dElement& right, double output) const {
    if (!std::isfinite(output)) return std::numeric_limits<double>::max();
    if (!integer_.type.empty()) {
      const double value = std::clamp(std::nearbyint(right.value), integer_.low, integer_.high);
      return std::fabs(output - value) / (1 + integer_.reading * std::fabs(value));
    }
    const double error = std::fabs(output - right.value);
    const double of_sum = kUnits * rounding_.sum + 2 * FpmathRounding(conv_.fpmath);
    const double allowed =
        of_sum * right.magnitude + rounding_.result * std::fabs(right.value) + rounding_.least;
    if (error == 0) return 0;
    return allowed > 0 ? error / allowed : std::numeric_limits<double>::max();
  }

  const Conv2dCase& conv_;
  const Conv2dInputs& inputs_;
  Conv2dScales scales_;
  int64_t image_;
  Rounding rounding_{};
  IntegerRange integer_{};
};

template <class Number>
int64_t CountNotFinite(const std::vector<Number>& values) {
  return std::count_if(values.begin(), values.end(),
                       [](Number value) { return !std::isfinite(value); });
}

// Positions to compare: all, or a sample.
std::vector<int64_t> Compared(const Conv2dCase& conv, const std::array<int64_t, 4>& sizes,
                              uint64_t seed) {
  const auto& p = conv.problem;
  if (DenseFlops(p) > kAllBelowFlops)
    return SampledIndices(
        sizes,
        std::clamp(kSampledTaps / TapsPerOutput(p, conv.direction), kLeastSamples, kMostSamples),
        seed);
  std::vector<int64_t> all(static_cast<size_t>(sizes[0] * sizes[1] * sizes[2] * sizes[3]));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

template <class Number>
Verification Check(const Conv2dCase& conv, const Conv2dInputs& inputs,
                   const Conv2dOutput<Number>& output, uint64_t seed) {
  const auto sizes = ResultSizes(conv.problem, conv.direction);
  const auto count = static_cast<int64_t>(output.values.size());
  if (count != sizes[0] * sizes[1] * sizes[2] * sizes[3])
    throw std::logic_error(fmt::format("{} outputs of {}", count, ToText(conv.problem)));
  Verification found;
  found.tolerance = 1;
  const Expected expected(conv, inputs);
  const auto compared = Compared(conv, sizes, seed);
  for (const int64_t index : compared)
    found.max_error =
        std::max(found.max_error, expected.Error(index, output.values[static_cast<size_t>(index)]));
  for (size_t k = 0; k < output.bias_gradient.size(); ++k)
    found.max_error = std::max(
        found.max_error, expected.BiasError(static_cast<int64_t>(k), output.bias_gradient[k]));
  found.how = static_cast<int64_t>(compared.size()) == count
                  ? fmt::format("all {} outputs", count)
                  : fmt::format("{} sampled outputs of {}", compared.size(), count);
  if (!output.bias_gradient.empty())
    found.how += fmt::format(", {} bias gradients", output.bias_gradient.size());
  found.ok = found.max_error <= found.tolerance;
  if (const int64_t lost = CountNotFinite(output.values); lost > 0) {
    found.ok = false;
    found.how += fmt::format("; {} of {} are not finite", lost, count);
  }
  return found;
}

}  // namespace

Verification CheckConv2d(const Conv2dCase& conv, const Conv2dInputs& inputs,
                         const Conv2dOutput<float>& output, uint64_t seed) {
  return Check(conv, inputs, output, seed);
}

Verification CheckConv2d(const Conv2dCase& conv, const Conv2dInputs& inputs,
                         const Conv2dOutput<double>& output, uint64_t seed) {
  return Check(conv, inputs, output, seed);
}

}  // namespace dlroof
