#include "counters/base/number_range.h"

#include <fmt/format.h>

#include <cmath>

namespace dlroof {

bool NumberRange::Contains(double number) const {
  return number >= least && number <= most &&
         (number == 0 || std::abs(number) >= 1 / kLargestNumber);
}

std::string NumberRange::Expected() const {
  if (key.empty())
    return fmt::format("0 or a magnitude from {:g} to {:g}", 1 / kLargestNumber, kLargestNumber);
  return fmt::format("{} from {:g} to {:g}", what, least, most);
}

}  // namespace dlroof
