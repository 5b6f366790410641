#include "counters/energy/energy_source.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "counters/base/error.h"

namespace dlroof::energy {
namespace {

std::vector<EnergySource>& EnergyRegistry() {
  static std::vector<EnergySource> sources;
  return sources;
}

}  // namespace

bool RegisterEnergySource(EnergySource source) {
  source.open = [open = std::move(source.open)](const EnergyPlace& place) -> EnergyCounters {
    try {
      return open(place);
    } catch (const BadInput& reason) {
      return {.why_not = reason.what()};
    }
  };
  EnergyRegistry().push_back(std::move(source));
  return true;
}

std::vector<EnergySource> AllEnergySources() {
  auto sources = EnergyRegistry();
  std::ranges::stable_sort(sources, {}, &EnergySource::rank);
  return sources;
}

std::filesystem::path SysfsRoot() {
  const char* root = std::getenv("DLROOF_SYSFS");
  return root == nullptr || *root == '\0' ? "/sys" : root;
}

}  // namespace dlroof::energy
