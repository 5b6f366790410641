#include "bench/benchdnn/driver.h"

#include <algorithm>

#include "bench/workload/op.h"

namespace dlroof::benchdnn {
namespace {

template <class Is>
const BenchdnnDriver* FirstThat(Is is) {
  const auto drivers = BenchdnnDrivers();
  const auto found = std::ranges::find_if(drivers, is);
  return found == drivers.end() ? nullptr : *found;
}

}  // namespace

std::vector<const BenchdnnDriver*> BenchdnnDrivers() {
  std::vector<const BenchdnnDriver*> drivers;
  for (const workload::Op* op : workload::AllOps())
    drivers.insert(drivers.end(), op->benchdnn.begin(), op->benchdnn.end());
  return drivers;
}

const BenchdnnDriver* FindBenchdnnDriver(std::string_view name) {
  return FirstThat([&](const auto* driver) { return driver->name == name; });
}

const BenchdnnDriver* DriverOfProblem(std::string_view text) {
  return FirstThat([&](const auto* driver) { return driver->begins_problem(text); });
}

}  // namespace dlroof::benchdnn
