#include "bench/products/types.h"

#include <algorithm>
#include <array>
#include <utility>

#include "counters/base/error.h"

namespace dlroof {
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

bool IsNamedType(std::string_view type) {
  return std::ranges::any_of(NamedTypes(), [&](const auto& row) { return row.first == type; });
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

}  // namespace dlroof
