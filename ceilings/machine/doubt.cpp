#include "ceilings/machine/doubt.h"

#include <fmt/format.h>

namespace dlroof {

void Doubt(Ceiling& ceiling, const std::string& reason) {
  ceiling.proved = false;
  if (ceiling.reason.find(reason) != std::string::npos) return;
  ceiling.reason = ceiling.reason.empty() ? reason : fmt::format("{}; {}", ceiling.reason, reason);
}

}  // namespace dlroof
