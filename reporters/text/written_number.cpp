#include "reporters/text/written_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

namespace dlroof {
namespace {

constexpr double kTick = 1e-9;      // [s] of the system's clocks
constexpr int kMostDecimals = 300;  // beyond them there is nothing to round

double Parsed(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

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

}  // namespace dlroof
