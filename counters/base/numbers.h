// Order statistics (no assumption about the distribution), reproducible random numbers, and
// conversion of small floating-point formats (fp16, bf16, fp8) to and from their bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace dlroof {

// Returns the median; for an even number of values the mean of the two middle ones. Throws
// std::invalid_argument if there are no values. `rising` must be in ascending order.
double Median(std::vector<double> values);
double MedianOfSorted(const std::vector<double>& rising);

// Returns the 95 % confidence interval of the median: the narrowest pair of values, symmetric in
// rank, that encloses the median with a probability of at least 95 % (binomial; e.g. David and
// Nagaraja, Order Statistics, 7.1). Returns nullopt for fewer than 6 values.
std::optional<std::pair<double, double>> MedianInterval95(std::vector<double> values);
std::optional<std::pair<double, double>> MedianInterval95OfSorted(
    const std::vector<double>& rising);

// Returns the numbers 0 to count - 1 in a random order that depends only on `seed` (Fisher-Yates).
inline std::vector<std::size_t> ShuffledOrder(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  // The C++ standard specifies the engine's output, but not that of distributions.
  std::mt19937_64 engine(seed);
  for (std::size_t left = count; left > 1; --left)
    std::swap(order[left - 1], order[engine() % left]);
  return order;
}

// IEEE-like: sign, exponent with bias 2^(exponent bits - 1) - 1, fraction. e4m3 and e2m1 have no
// infinity.
struct FloatFormat {
  int exponent_bits, fraction_bits;

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};
inline constexpr FloatFormat kFp16Format = {5, 10}, kBf16Format = {8, 7}, kE4m3Format = {4, 3},
                             kE2m1Format = {2, 1};

// Returns the bits of `value` in the format, rounded to nearest, ties to even; the result may be
// subnormal. `value` must be finite and, once rounded, within the format's range.
inline std::uint32_t EncodeFloat(double value, FloatFormat format) {
  constexpr int kFraction = 52, kBias = 1023;
  constexpr std::uint64_t kOne = 1;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int exponent = static_cast<int>(bits >> kFraction & 0x7ff) - kBias;
  const int below = std::max(0, 1 - format.bias() - exponent);  // exponents below the normal range
  // A shift by 62 bits already rounds every significand to 0.
  const int dropped = std::min(kFraction - format.fraction_bits + below, 62);
  const std::uint64_t significand = (bits & ((kOne << kFraction) - 1)) | kOne << kFraction;
  const std::uint64_t odd = significand >> dropped & 1;
  const std::uint64_t rounded = (significand + (kOne << (dropped - 1)) - 1 + odd) >> dropped;
  // `rounded` includes the leading one of a normal number, and a carry increments the exponent.
  const int biased = below > 0 ? 0 : exponent + format.bias() - 1;
  const int sign = format.exponent_bits + format.fraction_bits;
  return static_cast<std::uint32_t>(bits >> 63) << sign |
         ((static_cast<std::uint32_t>(biased) << format.fraction_bits) +
          static_cast<std::uint32_t>(rounded));
}

// Returns the value of `bits`, exact for finite numbers. Infinities and NaNs become large numbers.
inline double DecodeFloat(std::uint32_t bits, FloatFormat format) {
  constexpr int kFraction = 52, kBias = 1023;
  const int sign = format.exponent_bits + format.fraction_bits;
  const std::uint64_t magnitude = bits & ((1U << sign) - 1);
  const std::uint64_t negative = bits >> sign & 1;
  // Placed into a double, the exponent is too small by the difference of the two biases.
  const auto wide =
      std::bit_cast<double>(negative << 63 | magnitude << (kFraction - format.fraction_bits));
  const auto scale =
      std::bit_cast<double>(static_cast<std::uint64_t>(2 * kBias - format.bias()) << kFraction);
  return wide * scale;
}

// Returns the value of the format that is nearest to `value`.
inline double RoundTo(double value, FloatFormat format) {
  return DecodeFloat(EncodeFloat(value, format), format);
}

// Returns 32 pseudo-random bits that depend only on `index` (the finalizer of splitmix64).
inline std::uint32_t RandomBits(std::uint64_t index) {
  std::uint64_t z = index + 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 32);
}

}  // namespace dlroof
