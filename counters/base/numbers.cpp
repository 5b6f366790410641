#include "counters/base/numbers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace dlroof {

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return MedianOfSorted(values);
}

double MedianOfSorted(const std::vector<double>& rising) {
  if (rising.empty()) throw std::invalid_argument("the median of no values");
  const std::size_t n = rising.size();
  return (rising[(n - 1) / 2] + rising[n / 2]) / 2;
}

std::optional<std::pair<double, double>> MedianInterval95(std::vector<double> values) {
  std::ranges::sort(values);
  return MedianInterval95OfSorted(values);
}

std::optional<std::pair<double, double>> MedianInterval95OfSorted(
    const std::vector<double>& rising) {
  const std::size_t n = rising.size();
  const auto count = static_cast<double>(n);
  // P(at most k of n values lie below the median), k = 0, 1, ..., in logarithms as 2^-n underflows.
  double tail = 0, log_exactly = -count * std::log(2.0);
  std::size_t cut = 0;  // values left out at each end
  for (std::size_t k = 0; 2 * k < n; ++k) {
    const auto below = static_cast<double>(k);
    tail += std::exp(log_exactly);
    log_exactly += std::log((count - below) / (below + 1));
    if (2 * tail > 0.05) break;
    cut = k + 1;
  }
  if (cut == 0) return std::nullopt;
  return std::pair{rising[cut - 1], rising[n - cut]};
}

}  // namespace dlroof
