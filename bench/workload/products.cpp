#include "bench/workload/products.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

#include "bench/workload/memory.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "reporters/logs/primitive.h"

namespace dlroof::workload {
namespace {

bool IsFloat(std::string_view element) {
  return element == "f32" || element == "bf16" || element == "f16";
}

constexpr std::array<IntegerWeights, 4> kIntegerWeights = {
    {{"s8", -128, 127}, {"u8", 0, 255}, {"s4", -8, 7}, {"u4", 0, 15}}};

// Combinations that have a short name, or that a backend must list (ProductCapabilities::types).
const std::array<std::pair<std::string_view, ProductTypes>, 9>& NamedTypes() {
  static const std::array<std::pair<std::string_view, ProductTypes>, 9> rows = {
      {{"f64", {"f64", "f64", "f64"}},
       {"f32", {"f32", "f32", "f32"}},
       {"tf32", {"f32", "f32", "f32"}},  // stored as f32, multiplied as tf32
       {"bf16", {"bf16", "bf16", "bf16"}},
       {"f16", {"f16", "f16", "f16"}},
       {"int8", {"u8", "s8", "u8"}},
       {"fp8", {"e4m3", "e4m3", "e4m3"}},
       {"e4m3e4m3bf16", {"e4m3", "e4m3", "bf16"}},
       {"e2m1e2m1bf16", {"e2m1", "e2m1", "bf16"}}}};
  return rows;
}

// Removes the element type that `text` begins with, and returns it. Returns "" if there is none.
// `more`: types that not every tensor of a product may have.
std::string TakeElement(std::string_view& text, std::initializer_list<std::string_view> more = {}) {
  std::vector<std::string_view> allowed = {"f32", "bf16", "f16", "u8", "s8"};
  allowed.insert(allowed.end(), more);
  for (const auto element : allowed)
    if (text.starts_with(element)) {
      text.remove_prefix(element.size());
      return std::string(element);
    }
  return {};
}

bool IsNamedType(std::string_view type) {
  return std::ranges::any_of(NamedTypes(), [&](const auto& row) { return row.first == type; });
}

ProductTypes ReadTypes(const BenchmarkName& name, const ProductCapabilities& capabilities) {
  const bool listed = std::ranges::count(capabilities.types, name.type) > 0;
  try {
    auto types = ProductTypesFromKey(name.type);
    const bool mix = capabilities.mixes && !IsNamedType(name.type) &&
                     (capabilities.compressed_weights || !HasCompressedWeights(types));
    if (listed || mix) return types;
  } catch (const BadInput&) {
    // Falls through to the exception below, which lists the accepted types.
  }
  throw BadInput({.column = ColumnOfPart(name, 4)}, "expected a type ({}{}), got '{}'",
                 fmt::join(capabilities.types, ", "),
                 capabilities.mixes ? ", or a mix such as u8s8f32" : "", name.type);
}

void RefusePostOps(const BenchmarkName& name, const ProductCase& read) {
  const bool integer = IsByte(read.types.destination) || read.types.destination == "s32";
  const auto refuse = [&](std::string_view option) {
    if (read.direction != ProductDirection::kForward)
      RefuseOption(name, option, "can only be fused into fwd");
    if (integer && option != "relu")
      RefuseOption(name, option, "needs a floating-point destination");
  };
  refuse("sum");
  for (const auto function : kEltwises) refuse(Key(function));
}

}  // namespace

ProductTypes ProductTypesFromKey(std::string_view type) {
  for (const auto& [key, types] : NamedTypes())
    if (key == type) return types;
  std::string_view rest = type;
  ProductTypes types{TakeElement(rest), TakeElement(rest, {"s4", "u4"}),
                     TakeElement(rest, {"s32"})};
  if (!rest.empty() || types.destination.empty() || types.weights.empty() || types.source.empty())
    throw BadInput("'{}' is not a type", type);
  const bool integer = FindIntegerWeights(types.weights) != nullptr;
  if (integer && !HasCompressedWeights(types) && !IsInt8(types))
    throw BadInput("'{}' has integer weights that no product has", type);
  for (const auto& [key, named] : NamedTypes())
    if (named == types) throw BadInput("the type {} is written {}", type, key);
  return types;
}

std::optional<std::string> KeyOf(const ProductTypes& types) {
  for (const auto& [key, named] : NamedTypes())
    if (named == types) return std::string(key);
  auto key = types.source + types.weights + types.destination;
  try {
    if (ProductTypesFromKey(key) == types) return key;
  } catch (const BadInput&) {
    // No benchmark name has these types.
  }
  return std::nullopt;
}

bool IsByte(std::string_view element) { return element == "u8" || element == "s8"; }

bool IsInt8(const ProductTypes& types) { return types.weights == "s8" && IsByte(types.source); }

const IntegerWeights* FindIntegerWeights(std::string_view type) {
  return FindIf(kIntegerWeights, [&](const auto& row) { return row.type == type; });
}

bool HasCompressedWeights(const ProductTypes& types) {
  return FindIntegerWeights(types.weights) != nullptr && IsFloat(types.source) &&
         IsFloat(types.destination);
}

std::string_view BiasType(const ProductTypes& types) {
  return FindIntegerWeights(types.weights) != nullptr ? "f32" : std::string_view(types.weights);
}

std::string_view ComputeType(const ProductTypes& types) {
  if (IsInt8(types)) return "int8";
  if (types.weights == "e4m3") return "fp8";
  if (types.weights == "e2m1") return "fp4";
  for (const std::string_view narrow : {"f16", "bf16", "f32"})
    for (const auto* element : {&types.source, &types.weights, &types.destination})
      if (*element == narrow) return narrow;
  return "f64";
}

void ReadProductCase(const BenchmarkName& name, const ProductCapabilities& capabilities,
                     const std::function<void(int column_offset)>& read_problem,
                     ProductCase& read) {
  const auto direction = ProductDirectionFromKey(name.direction);
  if (!direction)
    throw BadInput({.column = ColumnOfPart(name, 3)},
                   "expected a direction (fwd, bwd_data, bwd_weights), got '{}'", name.direction);
  read.direction = *direction;
  read.type = name.type;
  read.types = ReadTypes(name, capabilities);
  read_problem(ColumnOfPart(name, 5) - 1);
  CheckOptions(name, capabilities.options);
  read.training = HasOption(name, "training");
  read.bias = HasOption(name, "bias");
  read.sum = HasOption(name, "sum");
  for (const auto function : kEltwises)
    if (HasOption(name, Key(function))) read.eltwise = function;
  read.scales = HasOption(name, "scales");
  read.fpmath = name.type == "tf32" ? "tf32-truncated" : FpmathOf(name);
  RefusePostOps(name, read);
  if (!IsInt8(read.types) && !HasCompressedWeights(read.types))
    RefuseOption(name, "scales", "needs integer types");
}

std::string_view ResultType(const ProductCase& product) {
  if (product.direction == ProductDirection::kForward) return product.types.destination;
  return product.direction == ProductDirection::kBackwardData ? product.types.source
                                                              : product.types.weights;
}

namespace {

logs::CallWork CallWorkOf(const ProductCase& product, const ProductSizes& sizes) {
  const auto bytes = [](std::string_view type) {
    return static_cast<double>(StoredBytes(2, type)) / 2;
  };
  auto work =
      logs::WorkOfProduct({.multiply_adds = static_cast<double>(sizes.flops) / 2,
                           .source = static_cast<double>(sizes.source),
                           .weights = static_cast<double>(sizes.weights),
                           .destination = static_cast<double>(sizes.destination),
                           .bias = product.bias ? static_cast<double>(sizes.channels) : 0},
                          {bytes(product.types.source), bytes(product.types.weights),
                           bytes(product.types.destination), bytes(BiasType(product.types))});
  std::vector<std::string> post_ops;
  if (product.sum) post_ops.emplace_back("sum");
  if (product.eltwise) post_ops.push_back(fmt::format("eltwise_{}", Key(*product.eltwise)));
  const auto fused = logs::WorkOfPostOps(post_ops, static_cast<double>(sizes.destination),
                                         bytes(product.types.destination));
  work.elementwise += fused.elementwise;
  work.bytes += fused.bytes + sizes.quantization_bytes;
  return work;
}

}  // namespace

Work ProductWork(const ProductCase& product, const ProductSizes& sizes, const std::string& pipe) {
  const auto call = CallWorkOf(product, sizes);
  Work work;
  work.flops[pipe] = call.matrix;
  work.parts["matrix"] = call.matrix;
  if (call.elementwise > 0) {
    work.flops[product.type == "f64" ? pipe : "fp32.vector"] += call.elementwise;
    work.parts["elementwise"] = call.elementwise;
  }
  work.bytes[Level::kDram] = call.bytes;
  const auto results = product.direction == ProductDirection::kForward        ? sizes.destination
                       : product.direction == ProductDirection::kBackwardData ? sizes.source
                                                                              : sizes.weights;
  work.written = static_cast<double>(StoredBytes(results, ResultType(product)));
  work.launches = 1;
  return work;
}

namespace {

constexpr float kMaxU8 = 127;
constexpr float kMaxS8 = 63;

// Returns the number of which all weights must be multiples: 2 for an s8 source, otherwise 1.
// Without VNNI, oneDNN's reorder halves and rounds the weights for an s8 source, and the primitive
// doubles its sums again. That changes odd weights by one: 1 becomes 0.
// https://oneapi-src.github.io/oneDNN/dev_guide_int8_computations.html, section 2. benchdnn's
// weights are even for the same reason (tests/benchdnn/conv/cfg.cpp, v3.2).
float WeightsStep(const ProductCase& product) { return product.types.source == "s8" ? 2.0F : 1.0F; }

struct Range {
  float low, high;
};
struct IntegerRanges {
  Range source, weights;
};

IntegerRanges RangesOf(const ProductCase& product, const ProductSizes& sizes) {
  const auto root = static_cast<float>(std::sqrt(sizes.terms));
  const bool is_signed = product.types.source == "s8";
  if (IsByte(product.types.destination) && !product.scales) {
    // The mean square is high^2 / 3 for uniform numbers and 2/3 for -1, 0, 1. So the sums have a
    // standard deviation of root x high x 0.47 x step, which is 60 here.
    const float step = WeightsStep(product);
    const float high =
        std::clamp(std::round(127 / (step * root)), 1.0F, is_signed ? kMaxS8 : kMaxU8);
    return {{is_signed ? -high : 0, high}, {-step, step}};
  }
  if (is_signed) return {{-kMaxS8, kMaxS8}, {-kMaxS8, kMaxS8}};
  // If the weights' mean is m, the sums have a mean of terms x 63.5 x m and a standard deviation of
  // 2,700 x root. This lower bound puts zero two standard deviations below the mean of the sums.
  return {{0, kMaxU8}, {std::min(0.0F, -kMaxS8 + 168 / root), kMaxS8}};
}

// Neighbours have different scales, so that the check detects a channel with a wrong scale.
std::vector<float> WeightScales(int64_t channels) {
  std::vector<float> scales(static_cast<size_t>(channels));
  for (size_t k = 0; k < scales.size(); ++k) scales[k] = k % 2 == 0 ? 0.5F : 0.25F;
  return scales;
}

ProductInputs IntegerInputs(const ProductCase& product, const ProductSizes& sizes, uint64_t seed) {
  const auto ranges = RangesOf(product, sizes);
  ProductInputs inputs;
  inputs.source = SeededValues(sizes.source, 4 * seed, product.types.source, ranges.source.low,
                               ranges.source.high);
  const float step = WeightsStep(product);
  inputs.weights = SeededValues(sizes.weights, 4 * seed + 1, "s8", ranges.weights.low / step,
                                ranges.weights.high / step);
  for (float& weight : inputs.weights) weight *= step;
  return inputs;
}

ProductInputs FloatInputs(const ProductCase& product, const ProductSizes& sizes, uint64_t seed) {
  const auto values = [&](int64_t count, std::string_view type, uint64_t tensor) {
    return SeededValues(count, 4 * seed + tensor, type, -1, 1);
  };
  ProductInputs inputs;
  if (HasCompressedWeights(product.types)) {
    const auto& [type, low, high] = *FindIntegerWeights(product.types.weights);
    inputs.weights = SeededValues(sizes.weights, 4 * seed + 1, type, low, high);
    inputs.source = values(sizes.source, product.types.source, 0);
    return inputs;
  }
  if (product.direction != ProductDirection::kBackwardData)
    inputs.source = values(sizes.source, product.types.source, 0);
  if (product.direction != ProductDirection::kBackwardWeights)
    inputs.weights = values(sizes.weights, product.types.weights, 1);
  if (product.direction != ProductDirection::kForward)
    inputs.destination = values(sizes.destination, product.types.destination, 2);
  return inputs;
}

}  // namespace

ProductScales ScalesOf(const ProductCase& product, const ProductSizes& sizes) {
  ProductScales scales;
  if (!product.scales) return scales;
  scales.source = 0.5F;
  scales.weights = WeightScales(sizes.channels);
  if (!IsByte(product.types.destination)) return scales;
  // 256 steps cover five standard deviations of 2,700 x sqrt(terms), with both other scales at 1/2.
  const double root = std::sqrt(static_cast<double>(sizes.terms));
  scales.destination =
      static_cast<float>(std::exp2(std::round(std::log2(0.25 * 5 * 2700.0 / 256 * root))));
  return scales;
}

ProductInputs SeededInputs(const ProductCase& product, const ProductSizes& sizes, uint64_t seed) {
  const bool is_integer = IsInt8(product.types);
  auto inputs =
      is_integer ? IntegerInputs(product, sizes, seed) : FloatInputs(product, sizes, seed);
  if (product.bias && product.direction == ProductDirection::kForward) {
    const auto type = BiasType(product.types);
    // For integer types the bias is an integer, so that sums are exact, and large enough to matter.
    const float most = is_integer ? 16 * ScalesOf(product, sizes).destination : 1;
    inputs.bias = SeededValues(sizes.channels, 4 * seed + 3, type, -most, most);
    if (is_integer)
      for (float& value : inputs.bias) value = std::round(value);
  }
  if (product.sum)
    inputs.addend = SeededValues(sizes.destination, 4 * seed + 2, product.types.destination, -1, 1);
  return inputs;
}

void RequireLoopsMemory(const ProductCase& product, const ProductSizes& sizes) {
  // [byte] per element: input in f32, array in f64, and a copy of the output in f64 for the check.
  constexpr double kBytes = 20;
  const int64_t addend = product.sum ? sizes.destination : 0;
  RequireHostMemory(
      kBytes * static_cast<double>(sizes.source + sizes.weights + sizes.destination + addend),
      sizes.problem);
}

ProductArrays<double> ArraysOf(const ProductInputs& inputs, const ProductSizes& sizes) {
  const auto filled = [](std::vector<double> values, int64_t count) {
    values.resize(static_cast<size_t>(count));
    return values;
  };
  return {filled({inputs.source.begin(), inputs.source.end()}, sizes.source),
          filled({inputs.weights.begin(), inputs.weights.end()}, sizes.weights),
          filled({inputs.destination.begin(), inputs.destination.end()}, sizes.destination),
          {inputs.bias.begin(), inputs.bias.end()},
          {inputs.addend.begin(), inputs.addend.end()}};
}

ProductOutput<double> OutputOf(const ProductCase& product, const ProductArrays<double>& arrays) {
  if (product.direction == ProductDirection::kForward) return {arrays.destination};
  if (product.direction == ProductDirection::kBackwardData) return {arrays.source};
  return {arrays.weights, arrays.bias};
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

class Expected {
 public:
  Expected(const ProductCase& product, const ProductSizes& sizes, const ProductResult& right,
           const ProductInputs& inputs)
      : product_(product), right_(right), inputs_(inputs), scales_(ScalesOf(product, sizes)) {
    const auto type = ResultType(product);
    const auto rounding = RoundingOf(type);
    if (rounding) rounding_ = *rounding;
    if (const auto of_sums = RoundingOf(product.types.source))
      rounding_.sum = std::max(rounding_.sum, of_sums->sum);
    for (const auto& row : kIntegers)
      if (row.type == type) integer_ = row;
    if (!rounding && integer_.type.empty())
      throw std::logic_error(fmt::format("no rounding of type {}", type));
  }

  double Error(int64_t index, double output) const {
    const auto sum = right_.element(index);
    return Error(product_.direction == ProductDirection::kForward ? Finished(index, sum) : sum,
                 output);
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
    if (product_.eltwise) element.value = Apply(*product_.eltwise, element.value);
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
    const double of_sum = kUnits * rounding_.sum + 2 * FpmathRounding(product_.fpmath);
    return ErrorInUnits(
        output, right.value,
        of_sum * right.magnitude + rounding_.result * std::fabs(right.value) + rounding_.least);
  }

  const ProductCase& product_;
  const ProductResult& right_;
  const ProductInputs& inputs_;
  ProductScales scales_;
  TypeRounding rounding_;
  IntegerRange integer_{};
};

}  // namespace

template <class Number>
Verification CheckProduct(const ProductCase& product, const ProductSizes& sizes,
                          const ProductResult& right, const ProductInputs& inputs,
                          const ProductOutput<Number>& output, uint64_t seed) {
  const Expected expected(product, sizes, right, inputs);
  auto found = CheckOutput<Number>(
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

template Verification CheckProduct(const ProductCase&, const ProductSizes&, const ProductResult&,
                                   const ProductInputs&, const ProductOutput<float>&, uint64_t);
template Verification CheckProduct(const ProductCase&, const ProductSizes&, const ProductResult&,
                                   const ProductInputs&, const ProductOutput<double>&, uint64_t);

}  // namespace dlroof::workload
