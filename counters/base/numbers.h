// Order statistics (no assumption about the distribution), reproducible random numbers, and
// conversion of small floating-point formats (fp16, bf16, fp8) to and from their bits.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <string_view>
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

// Format like IEEE 754's: sign, exponent with bias, fraction. e4m3 and e2m1 have no infinity.
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
  // In `wide` the exponent has the format's bias; `scale` corrects it to the bias of double.
  const auto wide =
      std::bit_cast<double>(negative << 63 | magnitude << (kFraction - format.fraction_bits));
  const auto scale =
      std::bit_cast<double>(static_cast<std::uint64_t>(2 * kBias - format.bias()) << kFraction);
  return wide * scale;
}

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

// Numbers in files are 0 or have a magnitude from 1/kLargestNumber to kLargestNumber, so that no
// product or quotient of two numbers overflows. No quantity of a real machine is outside.
inline constexpr double kLargestNumber = 1e18;

struct NumberRange {
  std::string_view keys;  // of JSON members, separated by blanks; "_x" is each key that ends in it
  double least, most;
  const char* what;  // "seconds of a call"

  bool Contains(double number) const;
  std::string Expected() const;  // "seconds of a call from 1e-10 to 100000"
};

// RangeOf uses the first row that matches the key.
inline constexpr NumberRange kNumberRanges[] = {
    {"seconds median call_seconds graph_seconds queued_seconds throughput_seconds alone_seconds "
     "near_seconds far_seconds smallest_seconds host_seconds",
     1e-10, 1e5, "seconds of a call"},
    {"launch_seconds", 1e-10, 1e5, "seconds of a launch"},
    {"window_seconds", 1e-10, 1e5, "seconds"},
    {"_seconds", 0, 1e9, "seconds"},
    {"round_trip", 1e-10, 1, "seconds of a round trip"},
    {"moment", 0, 1e12, "seconds since 1970"},
    {"per_second _per_second", 1, kLargestNumber, "a rate per second"},
    {"_hz", 1e6, 1e11, "a clock in Hz"},
    {"core_share link_share", 1e-6, 10, "a share"},
    {"_share min_effect drift", 0, 1, "a share"},
    {"spread", 0, 1e3, "a share"},
    {"deviation", 0, 1e6, "a share"},
    {"bytes _bytes", 0, kLargestNumber, "bytes"},
    {"flops parts", 0, kLargestNumber, "FLOPs"},
    {"instructions _instructions", 0, kLargestNumber, "instructions"},
    {"all smallest", 1, kLargestNumber, "instructions"},
    {"iterations warm_up_calls step_calls periods throttled regions", 0, kLargestNumber, "a count"},
    {"calls _calls", 1, kLargestNumber, "a count"},
    {"passes launches repetitions visits noisy clean registers points", 0, 1e9, "a count"},
    {"blocks", 0, 2e9, "a count"},
    {"cluster", 1, 1e9, "a count"},
    {"threads", 1, 1e6, "a thread count"},
    {"block", 0, 1e6, "a number of a block"},
    {"waves", 1e-9, 1e9, "waves"},
    {"seed", 0, 4294967295, "a seed"},
    {"rank kind node _index", 0, 1e9, "an index"},
    {"num_cpus cpus cpus_given", 1, 1e6, "a number of CPUs"},
    {"quota_cpus", 1e-3, 1e6, "a number of CPUs"},
    {"_cpus", 0, 1e6, "a number of CPUs"},
    {"_watts", 1e-3, 1e9, "watts"},
    {"joules domains beside", 1e-12, 1e12, "joules"},
    {"temperature_celsius", 1, 200, "degrees Celsius"},
    {"throttle", 0, 1e16, "a bit mask"},
    {"scaling", 1e-9, 1e3, "a ratio"},  // far from 1 if other programs ran
    {"per_cycle per_cycle_expected", 1e-6, 1e6, "a number per cycle"},
    {"moved_per_named", 1e-3, 1e3, "a ratio"},
    {"issue_rate", 1e-3, 1e3, "instructions per cycle"},
    {"doubling ratio wall_over_clean ratio_of_search heuristic_over_best executed_over_useful",
     1e-6, 1e6, "a ratio"},
    {"mhz_per_cpu", 0, 1e6, "a clock in MHz"},
    {"max_noise", 0, 1e6, "a share"}};
inline constexpr NumberRange kAnyNumber = {"", -kLargestNumber, kLargestNumber, ""};

// Pairs of a single key and its row of kNumberRanges, in the order of that table.
inline constexpr auto kRangeOfKey = [] {
  constexpr auto kKeys = [] {
    std::ptrdiff_t count = 0;
    for (const auto& row : kNumberRanges) count += 1 + std::ranges::count(row.keys, ' ');
    return static_cast<std::size_t>(count);
  }();
  std::array<std::pair<std::string_view, const NumberRange*>, kKeys> rows;
  auto next = rows.begin();
  for (const auto& row : kNumberRanges)
    for (std::size_t at = 0, end = 0; at < row.keys.size(); at = end + 1) {
      end = std::min(row.keys.find(' ', at), row.keys.size());
      *next++ = {row.keys.substr(at, end - at), &row};
    }
  return rows;
}();

// Returns the range of numbers of a member with this key. If the key has parts, as in
// "modelled/bytes/dram", uses the last part with a range. Returns kAnyNumber if there is no range.
constexpr const NumberRange& RangeOf(std::string_view key) {
  while (!key.empty()) {
    const auto slash = key.rfind('/');
    const auto part = key.substr(slash == std::string_view::npos ? 0 : slash + 1);
    for (const auto& [name, range] : kRangeOfKey)
      if (part == name || (name.front() == '_' && part.ends_with(name))) return *range;
    key = key.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
  return kAnyNumber;
}

}  // namespace dlroof
