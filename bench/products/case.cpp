#include "bench/products/case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "bench/workload/device_elements.h"
#include "counters/base/error.h"

namespace dlroof::products {
namespace {

struct ElementRow {
  std::string_view name;
  bool source, weights, destination;  // may be the type of
};
constexpr std::array<ElementRow, 6> kElements = {{{"f32", true, true, true},
                                                  {"bf16", true, true, true},
                                                  {"f16", true, true, true},
                                                  {"s32", false, false, true},
                                                  {"u8", true, false, true},
                                                  {"s8", true, true, true}}};

// Types with a name of their own.
const std::array<std::pair<std::string_view, ProductTypes>, 7>& NamedTypes() {
  static const std::array<std::pair<std::string_view, ProductTypes>, 7> rows = {
      {{"f64", {"f64", "f64", "f64"}},
       {"f32", {"f32", "f32", "f32"}},
       {"tf32", {"f32", "f32", "f32"}},  // what multiplies is narrower than what is stored
       {"bf16", {"bf16", "bf16", "bf16"}},
       {"f16", {"f16", "f16", "f16"}},
       {"int8", {"u8", "s8", "u8"}},
       {"fp8", {"e4m3", "e4m3", "e4m3"}}}};
  return rows;
}

// Takes the element that `text` begins with; empty: there is none.
std::string TakeElement(std::string_view& text, bool ElementRow::*allowed) {
  for (const auto& row : kElements)
    if (row.*allowed && text.starts_with(row.name)) {
      text.remove_prefix(row.name.size());
      return std::string(row.name);
    }
  return {};
}

// Returns true for a key that is no mix of element types: "int8", "tf32".
bool IsNamedType(std::string_view type) {
  return std::ranges::any_of(NamedTypes(), [&](const auto& row) { return row.first == type; });
}

ProductTypes ReadTypes(const workload::BenchmarkName& name, const ProductOffer& offer) {
  const bool listed = std::ranges::count(offer.types, name.type) > 0;
  try {
    auto types = ProductTypesFromKey(name.type);
    if (listed || (offer.mixes && !IsNamedType(name.type))) return types;
  } catch (const BadInput&) {
    // The refusal below lists what there is.
  }
  throw BadInput({.column = workload::ColumnOfPart(name, 4)}, "expected a type ({}{}), got '{}'",
                 fmt::join(offer.types, ", "), offer.mixes ? ", or a mix such as u8s8f32" : "",
                 name.type);
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

std::string KeyOf(const ProductTypes& types) {
  for (const auto& [key, named] : NamedTypes())
    if (named == types) return std::string(key);
  auto key = types.source + types.weights + types.destination;
  try {
    return ProductTypesFromKey(key) == types ? key : "";
  } catch (const BadInput&) {
    return "";
  }
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

void ReadProductCase(const workload::BenchmarkName& name, const ProductOffer& offer,
                     const std::function<void(int column_offset)>& read_problem,
                     ProductCase& read) {
  const auto direction = ProductDirectionFromKey(name.direction);
  if (!direction)
    throw BadInput({.column = workload::ColumnOfPart(name, 3)},
                   "expected a direction (fwd, bwd_data, bwd_weights), got '{}'", name.direction);
  read.direction = *direction;
  read.type = name.type;
  read.types = ReadTypes(name, offer);
  read_problem(workload::ColumnOfPart(name, 5) - 1);
  workload::CheckOptions(name, offer.options);
  read.training = workload::HasOption(name, "training");
  read.bias = workload::HasOption(name, "bias");
  read.relu = workload::HasOption(name, "relu");
  read.scales = workload::HasOption(name, "scales");
  read.fpmath = workload::FpmathOf(name);
  if (read.direction != ProductDirection::kForward)
    workload::RefuseOption(name, "relu", "is fused into fwd alone");
  if (!IsInt8(read.types)) workload::RefuseOption(name, "scales", "belongs to integer types");
}

std::string_view ResultType(const ProductCase& one) {
  if (one.direction == ProductDirection::kForward) return one.types.destination;
  return one.direction == ProductDirection::kBackwardData ? one.types.source : one.types.weights;
}

int64_t ElementwiseFlops(const ProductCase& one, const ProductSizes& sizes) {
  return sizes.destination * (static_cast<int64_t>(one.bias) + one.relu);
}

Work ProductWork(const ProductCase& one, const ProductSizes& sizes, const std::string& pipe) {
  const auto dense = static_cast<double>(sizes.flops);
  const auto elementwise = static_cast<double>(ElementwiseFlops(one, sizes));
  Work work;
  work.flops[pipe] = dense;
  work.parts["matrix"] = dense;
  if (elementwise > 0) {
    work.flops[one.type == "f64" ? pipe : "fp32.vector"] += elementwise;
    work.parts["elementwise"] = elementwise;
  }
  work.bytes[Level::kDram] =
      static_cast<double>(sizes.source * workload::ElementBytes(one.types.source) +
                          sizes.weights * workload::ElementBytes(one.types.weights) +
                          sizes.destination * workload::ElementBytes(one.types.destination) +
                          (one.bias ? sizes.channels * workload::ElementBytes(BiasType(one.types)) : 0));
  work.launches = 1;
  return work;
}

}  // namespace dlroof::products
