#include "bench/products/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "bench/workload/memory.h"

namespace dlroof::products {
namespace {

using workload::Verification;

std::vector<workload::MemoryRegion> Regions(const ProductArrays<double>& arrays) {
  std::vector<workload::MemoryRegion> regions;
  for (const auto* tensor : {&arrays.source, &arrays.weights, &arrays.destination, &arrays.bias})
    if (!tensor->empty())
      regions.push_back({tensor->data(), tensor->size() * sizeof(double),
                         tensor == &arrays.weights || tensor == &arrays.bias});
  return regions;
}

}  // namespace

ProductCapabilities LoopsCapabilities() { return {{"f64"}, false, {{"bias"}, {"relu"}}}; }

void RequireLoopsMemory(const ProductSizes& sizes) {
  // Inputs in f32, arrays in f64, and a copy of the output in f64 for the check.
  constexpr double kBytes = 20;
  workload::RequireHostMemory(
      kBytes * static_cast<double>(sizes.source + sizes.weights + sizes.destination),
      sizes.problem);
}

workload::PreparedCall PreparedLoops(const std::shared_ptr<ProductArrays<double>>& arrays,
                                     const ProductLoops& loops, Work modelled) {
  workload::PreparedCall call;
  call.run = [arrays, run = loops.run] { run(*arrays); };
  call.algorithm = "plain loops";
  call.threads = 1;
  call.modelled = std::move(modelled);
  call.memory = Regions(*arrays);
  return call;
}

namespace {

constexpr int64_t kAllBelowFlops = 50'000'000;
// [1] Most products that a sampled check computes, in about 0.1 s.
constexpr int64_t kSampledProducts = 60'000'000;
constexpr int64_t kLeastSamples = 64;
constexpr int64_t kMostSamples = 512;

// With zero-mean inputs the partial sums and their rounding errors grow like the square root of the
// length: the error is about one unit of 2^-24 of the sum of absolute products for any length. 64
// units allow other orders of summation and still detect one missing product among 250,000.
constexpr double kUnits = 64;

struct Rounding {
  std::string_view type;
  double sum;     // [1] relative unit in the last place of the sums
  double result;  // [1] relative error of rounding the result to its type
  double least;   // [1] absolute error of rounding the type's smallest numbers
};
// Tensor cores sum fp8 products with fewer bits than f32 has: about 14 on compute capability 9.0
// (DeepSeek-V3's technical report, 3.3.2). 64 units are 2^-13 of the sum.
constexpr std::array<Rounding, 5> kRoundings = {{{"f64", 0x1p-53, 0, 0},
                                                 {"f32", 0x1p-24, 0, 0},
                                                 {"bf16", 0x1p-24, 0x1p-8, 0},
                                                 {"f16", 0x1p-24, 0x1p-11, 0x1p-25},
                                                 {"e4m3", 0x1p-19, 0x1p-4, 0x1p-10}}};

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
    for (const auto& row : kRoundings)
      if (row.type == type) rounding_ = row;
    for (const auto& row : kIntegers)
      if (row.type == type) integer_ = row;
    if (rounding_.type.empty() && integer_.type.empty())
      throw std::logic_error(fmt::format("no rounding of type {}", type));
  }

  // Returns the error of the element at `index` in units of its allowed error.
  double Error(int64_t index, double output) const {
    const auto sum = right_.element(index);
    return Error(one_.direction == ProductDirection::kForward ? Finished(index, sum) : sum, output);
  }

  double BiasError(int64_t channel, double output) const {
    return Error(right_.bias_gradient(channel), output);
  }

 private:
  // Applies scales, bias and relu to a sum.
  ProductElement Finished(int64_t index, ProductElement element) const {
    const int64_t channel = right_.channel(index);
    const double scale = double{scales_.source} * scales_.Weights(channel);
    const double bias = inputs_.bias.empty() ? 0 : inputs_.bias[static_cast<size_t>(channel)];
    element.value = element.value * scale + bias;
    if (one_.relu) element.value = Relu(element.value);
    element.value /= scales_.destination;
    element.magnitude = (element.magnitude * scale + std::fabs(bias)) / scales_.destination;
    return element;
  }

  double Error(const ProductElement& right, double output) const {
    if (!std::isfinite(output)) return std::numeric_limits<double>::max();
    if (!integer_.type.empty()) {
      const double value = std::clamp(std::nearbyint(right.value), integer_.low, integer_.high);
      return std::fabs(output - value) / (1 + integer_.reading * std::fabs(value));
    }
    const double error = std::fabs(output - right.value);
    const double of_sum = kUnits * rounding_.sum + 2 * FpmathRounding(one_.fpmath);
    const double allowed =
        of_sum * right.magnitude + rounding_.result * std::fabs(right.value) + rounding_.least;
    if (error == 0) return 0;
    return allowed > 0 ? error / allowed : std::numeric_limits<double>::max();
  }

  const ProductCase& one_;
  const ProductResult& right_;
  const ProductInputs& inputs_;
  ProductScales scales_;
  Rounding rounding_{};
  IntegerRange integer_{};
};

template <class Number>
int64_t CountNotFinite(const std::vector<Number>& values) {
  return std::ranges::count_if(values, [](Number value) { return !std::isfinite(value); });
}

// Returns the positions to compare: all, or a sample.
std::vector<int64_t> Compared(const ProductSizes& sizes, const ProductResult& right,
                              uint64_t seed) {
  if (sizes.flops > kAllBelowFlops)
    return right.sample(std::clamp(kSampledProducts / right.terms, kLeastSamples, kMostSamples),
                        seed);
  std::vector<int64_t> all(static_cast<size_t>(right.count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

template <class Number>
workload::Verification Check(const Expected& expected, const std::vector<int64_t>& compared,
                             const ProductOutput<Number>& output) {
  const auto count = static_cast<int64_t>(output.values.size());
  workload::Verification found{.tolerance = 1};
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

template <class Number>
workload::Verification CheckProduct(const ProductCase& one, const ProductSizes& sizes,
                                    const ProductResult& right, const ProductInputs& inputs,
                                    const ProductOutput<Number>& output, uint64_t seed) {
  if (static_cast<int64_t>(output.values.size()) != right.count)
    throw std::logic_error(fmt::format("{} outputs of {}", output.values.size(), sizes.problem));
  return Check(Expected(one, sizes, right, inputs), Compared(sizes, right, seed), output);
}

template workload::Verification CheckProduct(const ProductCase&, const ProductSizes&,
                                             const ProductResult&, const ProductInputs&,
                                             const ProductOutput<float>&, uint64_t);
template workload::Verification CheckProduct(const ProductCase&, const ProductSizes&,
                                             const ProductResult&, const ProductInputs&,
                                             const ProductOutput<double>&, uint64_t);

}  // namespace dlroof::products
