#include "counters/base/filter_axis.h"

#include <algorithm>
#include <utility>

namespace dlroof {
namespace {

// Rounds up, for b > 0.
int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// Returns the sum of floor((a * i + b) / m) for i = 0 ... n - 1, with a, b >= 0 and m > 0, like
// Euclid's algorithm: whole multiples of m are summed at once, and what is left are points below a
// line, which are counted with the axes exchanged.
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
  // The first taps have such pairs with all outputs, the next ones with some, the others with none.
  const auto taps_below = [&](int64_t limit) {
    return std::clamp<int64_t>(CeilDiv(limit, axis.dilation), 0, axis.taps);
  };
  const int64_t full = taps_below(end - (axis.outputs - 1) * axis.stride);
  const int64_t some = taps_below(end);
  // Tap some - 1 - i has ceil((last + i * dilation) / stride) of them.
  const int64_t last = end - (some - 1) * axis.dilation;
  return full * axis.outputs +
         FloorSum(some - full, axis.stride, axis.dilation, last + axis.stride - 1);
}

}  // namespace

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
