// Floating-point numbers of few bits, as integers: what operands and results of GPU kernels are
// made of. No library of the GPU's.
#pragma once

#include <cstdint>

namespace dlroof {

// IEEE-like: sign, exponent with bias 2^(exponent - 1) - 1, fraction. e4m3 has no infinity.
struct FloatFormat {
  int exponent_bits, fraction_bits;
};
inline constexpr FloatFormat kFp16Format = {5, 10}, kBf16Format = {8, 7}, kE4m3Format = {4, 3};

// To nearest, ties to even; below the smallest normal number a subnormal one. `value` must be
// finite and, rounded, within the format's range.
std::uint32_t EncodeFloat(double value, FloatFormat format);
// Exact. Not for infinities and NaNs: they come out as numbers beyond the format's range.
double DecodeFloat(std::uint32_t bits, FloatFormat format);
// The nearest value of the format.
double RoundTo(double value, FloatFormat format);

// A number of 32 random bits from `index`: the finalizer of splitmix64.
std::uint32_t RandomBits(std::uint64_t index);

}  // namespace dlroof
