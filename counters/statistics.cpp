#include "counters/statistics.h"

#include <algorithm>
#include <cmath>

namespace dlroof {

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return (values[n / 2] + values[(n - 1) / 2]) / 2;
}

std::optional<std::pair<double, double>> MedianInterval95(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  // term = P(exactly k of n values lie below the median), tail = P(at most k do). Both tails
  // together may hold 5 %.
  double term = std::pow(0.5, static_cast<double>(n));
  double tail = term;
  if (2 * tail > 0.05) return std::nullopt;
  size_t k = 0;
  for (;;) {
    const double next = term * static_cast<double>(n - k) / static_cast<double>(k + 1);
    if (2 * (tail + next) > 0.05) break;
    term = next;
    tail += next;
    ++k;
  }
  return std::pair{values[k], values[n - 1 - k]};
}

}  // namespace dlroof
