#include "ceilings/machine/doubt.h"

#include <algorithm>

namespace dlroof {

void Doubt(Ceiling& ceiling, const std::string& reason) {
  ceiling.proved = false;
  if (std::find(ceiling.reasons.begin(), ceiling.reasons.end(), reason) == ceiling.reasons.end())
    ceiling.reasons.push_back(reason);
}

void DoubtUnbounded(Ceiling& ceiling, const std::string& reason) {
  Doubt(ceiling, reason);
  ceiling.unbounded = true;
}

}  // namespace dlroof
