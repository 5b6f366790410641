#include "counters/issue_rate.h"

#include <algorithm>

namespace dlroof {

double CoreShare::Of(double rate) {
  best_ = std::max(best_.value_or(rate), rate);
  return rate / *best_;
}

}  // namespace dlroof
