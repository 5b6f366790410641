#include "bench/products/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

#include "bench/workload/memory.h"
#include "bench/workload/operator_parts.h"
#include "bench/workload/output_check.h"

namespace dlroof::products {

ProductCapabilities LoopsCapabilities(workload::OptionRows options) {
  return {{"f64"}, false, std::move(options)};
}

void RequireLoopsMemory(const ProductCase& one, const ProductSizes& sizes) {
  // Per element: the input in f32, the array in f64, and a copy of the output in f64 for the check.
  constexpr double kBytes = 20;
  const int64_t addend = one.sum ? sizes.destination : 0;
  workload::RequireHostMemory(
      kBytes * static_cast<double>(sizes.source + sizes.weights + sizes.destination + addend),
      sizes.problem);
}

workload::PreparedCall PreparedLoops(const std::shared_ptr<ProductArrays<double>>& arrays,
                                     const ProductLoops& loops, Work modelled) {
  auto call = workload::PreparedLoops(
      [arrays, run = loops.run] { run(*arrays); }, std::move(modelled),
      {&arrays->source, &arrays->weights, &arrays->destination, &arrays->bias, &arrays->addend});
  for (auto& region : call.memory)
    region.weights = region.begin == arrays->weights.data() || region.begin == arrays->bias.data();
  return call;
}

namespace {

// Inputs have a mean of zero, so partial sums and their rounding errors grow like the square root
// of the length of a sum. The error is then about 2^-24 (one unit) of the sum of absolute products.
// 64 units allow any order of summation and still detect one missing product among 250,000.
constexpr double kUnits = 64;

struct IntegerRange {
  std::string_view type;
  double low, high;
  double reading;  // [1] relative error of reading the integer as f32
};
constexpr std::array<IntegerRange, 3> kIntegers = {
    {{"u8", 0, 255, 0}, {"s8", -128, 127, 0}, {"s32", -0x1p31, 0x1p31 - 1, 0x1p-23}}};

double FpmathRounding(const std::optional<std::string>& mode) {
  if (!mode) return 0;
  if (*mode == "tf32-truncated") return 0x1p-10;
  return *mode == "bf16" || *mode == "any" ? 0x1p-8 : 0x1p-11;
}

// Computes the expected value and the allowed error of each element.
class Expected {
 public:
  Expected(const ProductCase& one, const ProductSizes& sizes, const ProductResult& right,
           const ProductInputs& inputs)
      : one_(one), right_(right), inputs_(inputs), scales_(ScalesOf(one, sizes)) {
    const auto type = ResultType(one);
    const auto rounding = workload::RoundingOf(type);
    if (rounding) rounding_ = *rounding;
    for (const auto& row : kIntegers)
      if (row.type == type) integer_ = row;
    if (!rounding && integer_.type.empty())
      throw std::logic_error(fmt::format("no rounding of type {}", type));
  }

  // Returns the error of element `index` divided by its allowed error.
  double Error(int64_t index, double output) const {
    const auto sum = right_.element(index);
    return Error(one_.direction == ProductDirection::kForward ? Finished(index, sum) : sum, output);
  }

  double BiasError(int64_t channel, double output) const {
    return Error(right_.bias_gradient(channel), output);
  }

 private:
  // Applies the case's scales, bias, sum and function to the products' sum of element `index`.
  ProductElement Finished(int64_t index, ProductElement element) const {
    const int64_t channel = right_.channel(index);
    const double scale = double{scales_.source} * scales_.Weights(channel);
    const double bias = inputs_.bias.empty() ? 0 : inputs_.bias[static_cast<size_t>(channel)];
    const double addend = inputs_.addend.empty() ? 0 : inputs_.addend[static_cast<size_t>(index)];
    element.value = element.value * scale + bias + addend;
    if (one_.eltwise) element.value = Apply(*one_.eltwise, element.value);
    element.value /= scales_.destination;
    element.magnitude =
        (element.magnitude * scale + std::fabs(bias) + std::fabs(addend)) / scales_.destination;
    return element;
  }

  double Error(const ProductElement& right, double output) const {
    if (!std::isfinite(output)) return std::numeric_limits<double>::max();
    if (!integer_.type.empty()) {
      const double value = std::clamp(std::nearbyint(right.value), integer_.low, integer_.high);
      return std::fabs(output - value) / (1 + integer_.reading * std::fabs(value));
    }
    const double of_sum = kUnits * rounding_.sum + 2 * FpmathRounding(one_.fpmath);
    return workload::ErrorInUnits(
        output, right.value,
        of_sum * right.magnitude + rounding_.result * std::fabs(right.value) + rounding_.least);
  }

  const ProductCase& one_;
  const ProductResult& right_;
  const ProductInputs& inputs_;
  ProductScales scales_;
  workload::TypeRounding rounding_;
  IntegerRange integer_{};
};

}  // namespace

template <class Number>
workload::Verification CheckProduct(const ProductCase& one, const ProductSizes& sizes,
                                    const ProductResult& right, const ProductInputs& inputs,
                                    const ProductOutput<Number>& output, uint64_t seed) {
  const Expected expected(one, sizes, right, inputs);
  auto found = workload::CheckOutput<Number>(
      {.units = right.count,
       .flops = 2 * static_cast<double>(sizes.destination) * static_cast<double>(sizes.terms),
       .unit_flops = 2 * static_cast<double>(right.terms),
       .error = [&](int64_t index,
                    std::span<const double> value) { return expected.Error(index, value[0]); },
       .sample = right.sample},
      output.values, seed);
  for (size_t k = 0; k < output.bias_gradient.size(); ++k)
    found.max_error = std::max(
        found.max_error, expected.BiasError(static_cast<int64_t>(k), output.bias_gradient[k]));
  if (!output.bias_gradient.empty())
    found.how += fmt::format(", {} bias gradients", output.bias_gradient.size());
  found.ok = found.ok && found.max_error <= found.tolerance;
  return found;
}

template workload::Verification CheckProduct(const ProductCase&, const ProductSizes&,
                                             const ProductResult&, const ProductInputs&,
                                             const ProductOutput<float>&, uint64_t);
template workload::Verification CheckProduct(const ProductCase&, const ProductSizes&,
                                             const ProductResult&, const ProductInputs&,
                                             const ProductOutput<double>&, uint64_t);

}  // namespace dlroof::products
