#include "counters/base/small_floats.h"

#include <algorithm>
#include <cmath>

namespace dlroof {
namespace {

int Bias(FloatFormat format) { return (1 << (format.exponent_bits - 1)) - 1; }

}  // namespace

std::uint32_t EncodeFloat(double value, FloatFormat format) {
  const std::uint32_t sign = std::signbit(value) ? 1 : 0;
  const int bias = Bias(format);
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| in [2^(exponent-1), 2^exponent)
  const int scale = std::max(exponent - 1, 1 - bias);
  // The fraction with its leading one, in units of the last place; a carry moves into the exponent
  // by itself when both are added.
  const double units = std::nearbyint(std::ldexp(std::abs(value), format.fraction_bits - scale));
  const auto fraction = static_cast<std::uint32_t>(units);
  const std::uint32_t implied = 1U << format.fraction_bits;
  const std::uint32_t magnitude =
      fraction < implied ? fraction
                         : (static_cast<std::uint32_t>(scale + bias) << format.fraction_bits) +
                               (fraction - implied);
  return (sign << (format.exponent_bits + format.fraction_bits)) | magnitude;
}

double DecodeFloat(std::uint32_t bits, FloatFormat format) {
  const std::uint32_t implied = 1U << format.fraction_bits;
  const std::uint32_t fraction = bits & (implied - 1);
  const int exponent =
      static_cast<int>(bits >> format.fraction_bits) & ((1 << format.exponent_bits) - 1);
  const bool negative = ((bits >> (format.exponent_bits + format.fraction_bits)) & 1) != 0;
  const double units = exponent == 0 ? fraction : fraction + implied;
  const double value =
      std::ldexp(units, std::max(exponent, 1) - Bias(format) - format.fraction_bits);
  return negative ? -value : value;
}

double RoundTo(double value, FloatFormat format) {
  return DecodeFloat(EncodeFloat(value, format), format);
}

std::uint32_t RandomBits(std::uint64_t index) {
  std::uint64_t z = index + 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 32);
}

}  // namespace dlroof
