#include "counters/base/number_range.h"

#include <fmt/format.h>

#include <cmath>

namespace dlroof {

bool NumberRange::Contains(double number) const {
  // Means are sums times 1 / n: that of 49 threads of 1 is a little less than 1.
  constexpr double kRounding = 1e-12;
  return number >= least - kRounding * std::abs(least) &&
         number <= most + kRounding * std::abs(most) &&
         (number == 0 || std::abs(number) >= 1 / kLargestNumber);
}

std::string NumberRange::Expected() const {
  if (key.empty())
    return fmt::format("0 or a magnitude from {:g} to {:g}", 1 / kLargestNumber, kLargestNumber);
  return fmt::format("{} from {:g} to {:g}", what, least, most);
}

}  // namespace dlroof
