#include "bench/products/case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "bench/workload/memory.h"
#include "counters/base/error.h"
#include "reporters/logs/primitive_work.h"

namespace dlroof::products {
namespace {

struct ElementRow {
  std::string_view name;
  bool source, weights, destination;  // tensors that may have the type
};
constexpr std::array<ElementRow, 6> kElements = {{{"f32", true, true, true},
                                                  {"bf16", true, true, true},
                                                  {"f16", true, true, true},
                                                  {"s32", false, false, true},
                                                  {"u8", true, false, true},
                                                  {"s8", true, true, true}}};

// Combinations of element types that have a short name.
const std::array<std::pair<std::string_view, ProductTypes>, 7>& NamedTypes() {
  static const std::array<std::pair<std::string_view, ProductTypes>, 7> rows = {
      {{"f64", {"f64", "f64", "f64"}},
       {"f32", {"f32", "f32", "f32"}},
       {"tf32", {"f32", "f32", "f32"}},  // stored as f32, multiplied as tf32
       {"bf16", {"bf16", "bf16", "bf16"}},
       {"f16", {"f16", "f16", "f16"}},
       {"int8", {"u8", "s8", "u8"}},
       {"fp8", {"e4m3", "e4m3", "e4m3"}}}};
  return rows;
}

// Removes the element type that `text` begins with, and returns it. Returns "" if there is none.
std::string TakeElement(std::string_view& text, bool ElementRow::*allowed) {
  for (const auto& row : kElements)
    if (row.*allowed && text.starts_with(row.name)) {
      text.remove_prefix(row.name.size());
      return std::string(row.name);
    }
  return {};
}

// Returns whether `type` is a short name ("int8", "tf32") rather than a list of element types.
bool IsNamedType(std::string_view type) {
  return std::ranges::any_of(NamedTypes(), [&](const auto& row) { return row.first == type; });
}

ProductTypes ReadTypes(const workload::BenchmarkName& name,
                       const ProductCapabilities& capabilities) {
  const bool listed = std::ranges::count(capabilities.types, name.type) > 0;
  try {
    auto types = ProductTypesFromKey(name.type);
    if (listed || (capabilities.mixes && !IsNamedType(name.type))) return types;
  } catch (const BadInput&) {
    // Falls through to the exception below, which lists the accepted types.
  }
  throw BadInput({.column = workload::ColumnOfPart(name, 4)}, "expected a type ({}{}), got '{}'",
                 fmt::join(capabilities.types, ", "),
                 capabilities.mixes ? ", or a mix such as u8s8f32" : "", name.type);
}

void RefusePostOps(const workload::BenchmarkName& name, const ProductCase& read) {
  const bool integer = IsByte(read.types.destination) || read.types.destination == "s32";
  const auto refuse = [&](std::string_view option) {
    if (read.direction != ProductDirection::kForward)
      workload::RefuseOption(name, option, "can only be fused into fwd");
    if (integer && option != "relu")
      workload::RefuseOption(name, option, "needs a floating-point destination");
  };
  refuse("sum");
  for (const auto function : workload::kEltwises) refuse(Key(function));
}

}  // namespace

ProductTypes ProductTypesFromKey(std::string_view type) {
  for (const auto& [key, types] : NamedTypes())
    if (key == type) return types;
  std::string_view rest = type;
  ProductTypes types{TakeElement(rest, &ElementRow::source),
                     TakeElement(rest, &ElementRow::weights),
                     TakeElement(rest, &ElementRow::destination)};
  if (!rest.empty() || types.destination.empty() || types.weights.empty() || types.source.empty())
    throw BadInput("'{}' is not a type", type);
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

std::string_view BiasType(const ProductTypes& types) {
  return types.weights == "s8" ? "f32" : std::string_view(types.weights);
}

std::string_view ComputeType(const ProductTypes& types) {
  if (IsInt8(types)) return "int8";
  if (types.weights == "e4m3") return "fp8";
  for (const std::string_view narrow : {"f16", "bf16", "f32"})
    for (const auto* element : {&types.source, &types.weights, &types.destination})
      if (*element == narrow) return narrow;
  return "f64";
}

void ReadProductCase(const workload::BenchmarkName& name, const ProductCapabilities& capabilities,
                     const std::function<void(int column_offset)>& read_problem,
                     ProductCase& read) {
  const auto direction = ProductDirectionFromKey(name.direction);
  if (!direction)
    throw BadInput({.column = workload::ColumnOfPart(name, 3)},
                   "expected a direction (fwd, bwd_data, bwd_weights), got '{}'", name.direction);
  read.direction = *direction;
  read.type = name.type;
  read.types = ReadTypes(name, capabilities);
  read_problem(workload::ColumnOfPart(name, 5) - 1);
  workload::CheckOptions(name, capabilities.options);
  read.training = workload::HasOption(name, "training");
  read.bias = workload::HasOption(name, "bias");
  read.sum = workload::HasOption(name, "sum");
  for (const auto function : workload::kEltwises)
    if (workload::HasOption(name, Key(function))) read.eltwise = function;
  read.scales = workload::HasOption(name, "scales");
  read.fpmath = workload::FpmathOf(name);
  RefusePostOps(name, read);
  if (!IsInt8(read.types)) workload::RefuseOption(name, "scales", "needs integer types");
}

std::string_view ResultType(const ProductCase& one) {
  if (one.direction == ProductDirection::kForward) return one.types.destination;
  return one.direction == ProductDirection::kBackwardData ? one.types.source : one.types.weights;
}

namespace {

logs::CallWork CallWorkOf(const ProductCase& one, const ProductSizes& sizes) {
  const auto bytes = [](std::string_view type) {
    return static_cast<double>(workload::ElementBytes(type));
  };
  auto work = logs::WorkOfProduct({.multiply_adds = static_cast<double>(sizes.flops / 2),
                                   .source = static_cast<double>(sizes.source),
                                   .weights = static_cast<double>(sizes.weights),
                                   .destination = static_cast<double>(sizes.destination),
                                   .bias = one.bias ? static_cast<double>(sizes.channels) : 0},
                                  {bytes(one.types.source), bytes(one.types.weights),
                                   bytes(one.types.destination), bytes(BiasType(one.types))});
  std::vector<std::string> post_ops;
  if (one.sum) post_ops.emplace_back("sum");
  if (one.eltwise) post_ops.push_back(fmt::format("eltwise_{}", Key(*one.eltwise)));
  const auto fused = logs::WorkOfPostOps(post_ops, static_cast<double>(sizes.destination),
                                         bytes(one.types.destination));
  work.elementwise += fused.elementwise;
  work.bytes += fused.bytes;
  return work;
}

}  // namespace

int64_t ElementwiseFlops(const ProductCase& one, const ProductSizes& sizes) {
  return static_cast<int64_t>(CallWorkOf(one, sizes).elementwise);
}

Work ProductWork(const ProductCase& one, const ProductSizes& sizes, const std::string& pipe) {
  const auto call = CallWorkOf(one, sizes);
  Work work;
  work.flops[pipe] = call.matrix;
  work.parts["matrix"] = call.matrix;
  if (call.elementwise > 0) {
    work.flops[one.type == "f64" ? pipe : "fp32.vector"] += call.elementwise;
    work.parts["elementwise"] = call.elementwise;
  }
  work.bytes[Level::kDram] = call.bytes;
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
    // The mean square is high^2 / 3 for uniform numbers and 2/3 for -1, 0, 1. So the sums have a
    // standard deviation of root x high x 0.47 x step, which is 60 here.
    const float step = WeightsStep(one);
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

ProductInputs IntegerInputs(const ProductCase& one, const ProductSizes& sizes, uint64_t seed) {
  const auto ranges = RangesOf(one, sizes);
  ProductInputs inputs;
  inputs.source = workload::SeededValues(sizes.source, 4 * seed, one.types.source,
                                         ranges.source.low, ranges.source.high);
  const float step = WeightsStep(one);
  inputs.weights = workload::SeededValues(sizes.weights, 4 * seed + 1, "s8",
                                          ranges.weights.low / step, ranges.weights.high / step);
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
  // 256 steps cover five standard deviations of 2,700 x sqrt(terms), with both other scales at 1/2.
  const double root = std::sqrt(static_cast<double>(sizes.terms));
  scales.destination =
      static_cast<float>(std::exp2(std::round(std::log2(0.25 * 5 * 2700.0 / 256 * root))));
  return scales;
}

ProductInputs SeededInputs(const ProductCase& one, const ProductSizes& sizes, uint64_t seed) {
  const bool is_integer = IsInt8(one.types);
  auto inputs = is_integer ? IntegerInputs(one, sizes, seed) : FloatInputs(one, sizes, seed);
  if (one.bias && one.direction == ProductDirection::kForward) {
    const auto type = BiasType(one.types);
    // For integer types the bias is an integer, so that sums are exact, and large enough to matter.
    const float most = is_integer ? 16 * ScalesOf(one, sizes).destination : 1;
    inputs.bias = workload::SeededValues(sizes.channels, 4 * seed + 3, type == "f64" ? "f32" : type,
                                         -most, most);
    if (is_integer)
      for (float& value : inputs.bias) value = std::round(value);
  }
  if (one.sum)
    inputs.addend = workload::SeededValues(
        sizes.destination, 4 * seed + 2,
        one.types.destination == "f64" ? "f32" : one.types.destination, -1, 1);
  return inputs;
}

}  // namespace dlroof::products
