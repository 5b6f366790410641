#include "bench/matmul/check.h"

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
constexpr int64_t kSampledProducts = 60'000'000;
constexpr int64_t kLeastSamples = 64;
constexpr int64_t kMostSamples = 512;

// Rounding errors of zero-mean sums are about one unit of 2^-24 of the sum of absolute products. 64
// units leave room for other orders of summation.
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

struct IntegerRange {
  std::string_view type;
  double low, high;
  double reading;  // [1] relative error of reading one as f32
};
constexpr std::array<IntegerRange, 3> kIntegers = {
    {{"u8", 0, 255, 0}, {"s8", -128, 127, 0}, {"s32", -0x1p31, 0x1p31 - 1, 0x1p-23}}};

// Returns the eight corners, then seeded positions.
std::vector<int64_t> SampledIndices(const MatmulProduct& p, int64_t count, uint64_t seed) {
  std::vector<int64_t> indices;
  for (const int64_t pair : {int64_t{0}, p.batch - 1})
    for (const int64_t row : {int64_t{0}, p.rows - 1})
      for (const int64_t column : {int64_t{0}, p.columns - 1})
        indices.push_back((pair * p.rows + row) * p.columns + column);
  const auto random = SeededIndices(count - 8, seed, p.batch * p.rows * p.columns);
  indices.insert(indices.end(), random.begin(), random.end());
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return indices;
}

double FpmathRounding(std::string_view mode) {
  if (mode.empty()) return 0;
  if (mode == "tf32-truncated") return 0x1p-10;
  return mode == "bf16" || mode == "any" ? 0x1p-8 : 0x1p-11;
}

// The right value of an element, and the error that its type allows.
class Expected {
 public:
  Expected(const MatmulCase& matmul, const MatmulInputs& inputs)
      : matmul_(matmul),
        inputs_(inputs),
        product_(ProductOf(matmul)),
        scales_(MatmulScalesOf(matmul)) {
    const auto type = TypeOf(matmul.types, product_.result);
    for (const auto& row : kRoundings)
      if (row.type == type) rounding_ = row;
    for (const auto& row : kIntegers)
      if (row.type == type) integer_ = row;
    if (rounding_.type.empty() && integer_.type.empty())
      throw std::logic_error(fmt::format("no rounding of type {}", type));
  }

  // Returns the error of the element at `index`, in units of what its type allows.
  double Error(int64_t index, double output) const {
    const auto sum = MatmulElementAt(product_, inputs_, index);
    return Error(product_.result == Matrix::kC ? Finished(index, sum) : sum, output);
  }

  double BiasError(int64_t column, double output) const {
    return Error(MatmulBiasGradientAt(matmul_.problem.n, inputs_, column), output);
  }

 private:
  // Returns what the forward pass makes of a sum.
  MatmulElement Finished(int64_t index, MatmulElement element) const {
    const int64_t column = index % matmul_.problem.n;
    const double scale = double{scales_.source} * scales_.Weights(column);
    const double bias = inputs_.bias.empty() ? 0 : inputs_.bias[static_cast<size_t>(column)];
    element.value = element.value * scale + bias;
    if (matmul_.relu) element.value = Relu(element.value);
    element.value /= scales_.destination;
    element.magnitude = (element.magnitude * scale + std::fabs(bias)) / scales_.destination;
    return element;
  }

  double Error(const MatmulElement& right, double output) const {
    if (!std::isfinite(output)) return std::numeric_limits<double>::max();
    if (!integer_.type.empty()) {
      const double value = std::clamp(std::nearbyint(right.value), integer_.low, integer_.high);
      return std::fabs(output - value) / (1 + integer_.reading * std::fabs(value));
    }
    const double error = std::fabs(output - right.value);
    const double of_sum = kUnits * rounding_.sum + 2 * FpmathRounding(matmul_.fpmath);
    const double allowed = of_sum * right.magnitude + rounding_.result * std::fabs(right.value);
    if (error == 0) return 0;
    return allowed > 0 ? error / allowed : std::numeric_limits<double>::max();
  }

  const MatmulCase& matmul_;
  const MatmulInputs& inputs_;
  MatmulProduct product_;
  MatmulScales scales_;
  Rounding rounding_{};
  IntegerRange integer_{};
};

// Returns the positions to compare: all, or a sample.
std::vector<int64_t> Compared(const MatmulCase& matmul, uint64_t seed) {
  const auto product = ProductOf(matmul);
  if (DenseFlops(matmul.problem) > kAllBelowFlops)
    return SampledIndices(
        product, std::clamp(kSampledProducts / product.depth, kLeastSamples, kMostSamples), seed);
  std::vector<int64_t> all(static_cast<size_t>(product.batch * product.rows * product.columns));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

template <class Number>
Verification Check(const MatmulCase& matmul, const MatmulInputs& inputs,
                   const MatmulOutput<Number>& output, uint64_t seed) {
  const auto product = ProductOf(matmul);
  const auto count = static_cast<int64_t>(output.values.size());
  if (count != product.batch * product.rows * product.columns)
    throw std::logic_error(fmt::format("{} outputs of {}", count, ToText(matmul.problem)));
  Verification found;
  found.tolerance = 1;
  const Expected expected(matmul, inputs);
  const auto compared = Compared(matmul, seed);
  for (const int64_t index : compared)
    found.max_error =
        std::max(found.max_error, expected.Error(index, output.values[static_cast<size_t>(index)]));
  for (size_t i = 0; i < output.bias_gradient.size(); ++i)
    found.max_error = std::max(
        found.max_error, expected.BiasError(static_cast<int64_t>(i), output.bias_gradient[i]));
  found.how = static_cast<int64_t>(compared.size()) == count
                  ? fmt::format("all {} outputs", count)
                  : fmt::format("{} sampled outputs of {}", compared.size(), count);
  if (!output.bias_gradient.empty())
    found.how += fmt::format(", {} bias gradients", output.bias_gradient.size());
  found.ok = found.max_error <= found.tolerance;
  const auto lost = std::count_if(output.values.begin(), output.values.end(),
                                  [](Number value) { return !std::isfinite(value); });
  if (lost > 0) {
    found.ok = false;
    found.how += fmt::format("; {} of {} are not finite", lost, count);
  }
  return found;
}

}  // namespace

Verification CheckMatmul(const MatmulCase& matmul, const MatmulInputs& inputs,
                         const MatmulOutput<float>& output, uint64_t seed) {
  return Check(matmul, inputs, output, seed);
}

Verification CheckMatmul(const MatmulCase& matmul, const MatmulInputs& inputs,
                         const MatmulOutput<double>& output, uint64_t seed) {
  return Check(matmul, inputs, output, seed);
}

}  // namespace dlroof
