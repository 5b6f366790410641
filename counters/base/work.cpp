#include "counters/base/work.h"

#include <algorithm>
#include <utility>

#include "counters/base/keys.h"

namespace dlroof {
namespace {

constexpr KeyRow<ProductDirection> kDirections[] = {
    {ProductDirection::kForward, "fwd"},
    {ProductDirection::kBackwardData, "bwd_data"},
    {ProductDirection::kBackwardWeights, "bwd_weights"}};
constexpr KeyRow<Level> kLevels[] = {{Level::kL1, "l1"},
                                     {Level::kL2, "l2"},
                                     {Level::kL3, "l3"},
                                     {Level::kDram, "dram"},
                                     {Level::kHost, "host"}};
constexpr KeyRow<Provenance> kProvenances[] = {{Provenance::kMeasured, "measured"},
                                               {Provenance::kSimulated, "simulated"},
                                               {Provenance::kModelled, "modelled"}};

int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// Returns the sum of floor((a * i + b) / m) for i = 0 ... n - 1, with a, b >= 0 and m > 0. As in
// Euclid's algorithm, each step sums the whole multiples of m at once. The rest is the number of
// lattice points below a line, which the next step counts with the axes exchanged.
int64_t FloorSum(int64_t n, int64_t m, int64_t a, int64_t b) {
  int64_t sum = 0;
  while (n > 0) {
    if (a >= m) sum += (n - 1) * n / 2 * (a / m);
    sum += n * (b / m);
    a %= m, b %= m;
    const int64_t end = a * n + b;
    n = end / m, b = end % m;
    std::swap(a, m);
  }
  return sum;
}

// Returns the number of pairs with output * stride + tap * dilation < end.
int64_t PairsBelow(const FilterAxis& axis, int64_t end) {
  // Taps 0 to full - 1 form such pairs with all outputs, taps full to some - 1 with some outputs,
  // the other taps with no output.
  const auto taps_below = [&](int64_t limit) {
    return std::clamp<int64_t>(CeilDiv(limit, axis.dilation), 0, axis.taps);
  };
  const int64_t full = taps_below(end - (axis.outputs - 1) * axis.stride);
  const int64_t some = taps_below(end);
  // The tap (some - 1 - i) has ceil((last + i * dilation) / stride) such pairs.
  const int64_t last = end - (some - 1) * axis.dilation;
  return full * axis.outputs +
         FloorSum(some - full, axis.stride, axis.dilation, last + axis.stride - 1);
}

}  // namespace

std::string_view Key(ProductDirection direction) { return KeyIn(kDirections, direction); }

std::optional<ProductDirection> ProductDirectionFromKey(std::string_view key) {
  return ValueIn(kDirections, key);
}

const std::vector<Level>& AllLevels() {
  static const auto values = ValuesOf(kLevels);
  return values;
}

const std::vector<Provenance>& AllProvenances() {
  static const auto values = ValuesOf(kProvenances);
  return values;
}

const std::vector<std::string>& AllPipeTypes() {
  static const std::vector<std::string> types = {"fp64", "fp32", "tf32", "fp16", "bf16",
                                                 "int8", "fp8",  "fp4",  "int32"};
  return types;
}

const std::vector<std::string>& AllPipeUnits() {
  static const std::vector<std::string> units = {"vector", "matrix"};
  return units;
}

std::string_view Key(Level level) { return KeyIn(kLevels, level); }
std::string_view Key(Provenance provenance) { return KeyIn(kProvenances, provenance); }

std::optional<Level> LevelFromKey(std::string_view key) { return ValueIn(kLevels, key); }

std::optional<Provenance> ProvenanceFromKey(std::string_view key) {
  return ValueIn(kProvenances, key);
}

bool IsPipeKey(std::string_view key) {
  const auto dot = key.find('.'), finer = key.find('.', dot + 1);
  if (dot == key.npos || finer == key.size() - 1) return false;
  return std::ranges::count(AllPipeTypes(), key.substr(0, dot)) > 0 &&
         std::ranges::count(AllPipeUnits(), key.substr(dot + 1, finer - dot - 1)) > 0;
}

std::optional<double> TotalFlops(const Work& work) {
  if (work.flops.empty()) return std::nullopt;
  double total = 0;
  for (const auto& [pipe, flops] : work.flops) total += flops;
  return total;
}

int64_t PairsInside(const FilterAxis& axis) {
  if (axis.source < 1 || axis.outputs < 1 || axis.taps < 1) return 0;
  return PairsBelow(axis, axis.pad_begin + axis.source) - PairsBelow(axis, axis.pad_begin);
}

double UsefulPairs(std::span<const FilterAxis> axes) {
  double pairs = 1;
  for (const auto& axis : axes) pairs *= static_cast<double>(PairsInside(axis));
  return pairs;
}

}  // namespace dlroof
