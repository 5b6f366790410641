// This file writes numbers: with prefixes (units.h), and with as many digits as a file needs
// (written_number.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "reporters/text/units.h"
#include "reporters/text/written_number.h"

namespace dlroof::text {
namespace {

constexpr std::array<std::string_view, 11> kPrefixes = {"p", "n", "µ", "m", "", "k",
                                                        "M", "G", "T", "P", "E"};
constexpr int kUnscaled = 4;  // index of the empty prefix

// The power of ten of the first digit after rounding to three: 999.7 is 1.00e3.
int Exponent(double value) {
  std::array<char, 32> text{};
  std::to_chars(text.begin(), text.end(), value, std::chars_format::scientific, 2);
  return std::atoi(std::ranges::find(text, 'e') + 1);
}

std::string Fixed(double value, int exponent) {
  return FixedText(value, std::max(0, 2 - exponent));
}

constexpr double kTick = 1e-9;      // [s] of the system's clocks
constexpr int kMostDecimals = 300;  // beyond them there is nothing to round

double Parsed(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

// std::to_chars takes a third of the time of fmt, which counts where a table has 10^6 cells.
std::string FixedText(double value, int digits) {
  std::array<char, 400> text;  // 309 digits before the point
  const auto done = std::to_chars(text.data(), text.data() + text.size(), value,
                                  std::chars_format::fixed, std::min(digits, 80));
  return {text.data(), done.ptr};
}

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
  auto text = Fixed(value / std::pow(10.0, 3 * thousands), exponent - 3 * thousands);
  text += ' ';
  text += kPrefixes[index];
  text += unit;
  return text;
}

double Rounded(double value, int digits) {
  if (!std::isfinite(value)) return value;
  return Parsed(fmt::format("{:.{}e}", value, digits - 1));
}

nlohmann::json WholeOrReal(double value) {
  constexpr double kExactWholeNumbers = 9007199254740992;  // 2^53
  const bool whole = std::abs(value) < kExactWholeNumbers && value == std::floor(value);
  return whole ? nlohmann::json(static_cast<std::int64_t>(value)) : nlohmann::json(value);
}

void RoundAll(nlohmann::json& json, int digits) {
  if (json.is_number_float()) json = WholeOrReal(Rounded(json.get<double>(), digits));
  if (!json.is_structured()) return;
  for (auto& value : json) RoundAll(value, digits);
}

double RoundedToClock(double seconds, double iterations, int digits) {
  if (!std::isfinite(seconds) || seconds == 0 || !(iterations > 0)) return seconds;
  // Half a unit of the last decimal is less than half a tick of the sum.
  double decimals = std::floor(-std::log10(kTick / iterations)) + 1;
  if (digits > 0)
    decimals = std::max(decimals, digits - 1 - std::floor(std::log10(std::abs(seconds))));
  if (!(decimals >= 0 && decimals < kMostDecimals)) return seconds;
  return Parsed(fmt::format("{:.{}f}", seconds, static_cast<int>(decimals)));
}

}  // namespace dlroof::text
