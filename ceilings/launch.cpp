#include "ceilings/launch.h"

#include <utility>
#include <vector>

namespace dlroof {
namespace {

std::vector<LaunchProbe>& Probes() {
  static std::vector<LaunchProbe> probes;
  return probes;
}

}  // namespace

bool RegisterLaunchProbe(LaunchProbe probe) {
  Probes().push_back(std::move(probe));
  return true;
}

std::optional<LaunchCost> MeasureLaunch(int threads, const RatePolicy& policy) {
  if (Probes().empty()) return std::nullopt;
  return Probes().front()(threads, policy);
}

}  // namespace dlroof
