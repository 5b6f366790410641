#include <algorithm>
#include <array>

#include "baselines/compare/compare.h"

namespace dlroof {
namespace {

constexpr std::array<std::pair<Quantity, std::string_view>, 5> kQuantities = {
    {{Quantity::kTime, "time"},
     {Quantity::kBytes, "bytes"},
     {Quantity::kFlops, "flops"},
     {Quantity::kFraction, "fraction"},
     {Quantity::kResidual, "residual"}}};

}  // namespace

std::string_view Key(Quantity quantity) {
  return std::find_if(kQuantities.begin(), kQuantities.end(),
                      [&](const auto& row) { return row.first == quantity; })
      ->second;
}

std::optional<Quantity> QuantityFromKey(std::string_view key) {
  for (const auto& [quantity, text] : kQuantities)
    if (text == key) return quantity;
  return std::nullopt;
}

}  // namespace dlroof
