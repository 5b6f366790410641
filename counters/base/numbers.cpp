#include "counters/base/numbers.h"

#include <fmt/format.h>

#include <cmath>
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
  // `tail`: P(at most k of n values are below the median), by logarithms, as 2^-n underflows.
  double tail = 0, log_exactly = -count * std::log(2.0);
  std::size_t cut = 0;  // number of values outside the interval at each end
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

bool NumberRange::Contains(double number) const {
  // Allows rounding errors: a mean as sum * (1 / n) of 49 values of 1 is a little less than 1.
  constexpr double kRounding = 1e-12;
  return number >= least - kRounding * std::abs(least) &&
         number <= most + kRounding * std::abs(most) &&
         (number == 0 || std::abs(number) >= 1 / kLargestNumber);
}

std::string NumberRange::Expected() const {
  if (keys.empty())
    return fmt::format("0 or a magnitude from {:g} to {:g}", 1 / kLargestNumber, kLargestNumber);
  return fmt::format("{} from {:g} to {:g}", what, least, most);
}

}  // namespace dlroof
