#include "reporters/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace dlroof {
namespace {

constexpr std::array<std::string_view, 11> kPrefixes = {"p", "n", "µ", "m", "", "k",
                                                        "M", "G", "T", "P", "E"};
constexpr int kUnscaled = 4;  // index of the empty prefix

// The power of ten of the first digit after rounding to three: 999.7 is 1.00e3.
int Exponent(double value) {
  const auto text = fmt::format("{:.2e}", value);
  return std::stoi(text.substr(text.find('e') + 1));
}

std::string Fixed(double value, int exponent) {
  return fmt::format("{:.{}f}", value, std::max(0, 2 - exponent));
}

}  // namespace

std::string ThreeDigits(double value) {
  if (value == 0 || !std::isfinite(value)) return fmt::format("{}", value);
  const int exponent = Exponent(value);
  if (exponent < -4 || exponent >= 6) return fmt::format("{:.2e}", value);
  return Fixed(value, exponent);
}

std::string WithPrefix(double value, std::string_view unit) {
  if (value == 0 || !std::isfinite(value)) return fmt::format("{} {}", value, unit);
  const int exponent = Exponent(value);
  const int thousands = static_cast<int>(std::floor(exponent / 3.0));
  const int index = kUnscaled + thousands;
  if (index < 0 || index >= static_cast<int>(kPrefixes.size()))
    return fmt::format("{:.2e} {}", value, unit);
  return fmt::format("{} {}{}",
                     Fixed(value / std::pow(10.0, 3 * thousands), exponent - 3 * thousands),
                     kPrefixes[index], unit);
}

}  // namespace dlroof
