// The energy of one call, from energy counters of the machine (RAPL, NVML).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "counters/base/error.h"

namespace dlroof::energy {

struct Energy {
  double joules = 0;  // [J] of one call, mean of three windows
  // [J] 95 % interval (Student's t over the three windows). Unset if it would include 0.
  std::optional<std::pair<double, double>> ci95;
  std::map<std::string, double> domains;  // [J] of one call; their sum is `joules`
  std::map<std::string, double> beside;   // [J] overlapping domains, not in `joules`
  double seconds = 0;                     // [s] of one call; power is joules / seconds
  double window_seconds = 0;              // [s] of the shortest window
  double calls = 0;                       // [1] in all windows
  std::optional<double> others_cpus;      // [1] mean number of CPUs that other programs used
  std::string from;                       // name of the source: "powercap"
  std::string covers;                     // "packages and DRAM; no fans, NIC, power supply"

  bool operator==(const Energy&) const = default;
};

// Returns whether other programs used so much CPU time (a tenth of a CPU) during the measurement
// that they may have caused some of the energy.
bool HasOthersEnergy(const Energy& energy);

// The energy of one benchmark. Unset without a reason if it was not requested.
struct EnergyResult {
  std::optional<Energy> energy;
  std::optional<Reason> reason;  // why the requested `energy` is missing
};

// Power of the idle machine.
struct IdlePower {
  double watts = 0;                       // [W] sum over `domains`
  std::map<std::string, double> domains;  // [W] by domain
  double seconds = 0;                     // [s] duration of the measurement
  std::string from, covers;               // as in Energy
};

struct IdlePowers {
  std::optional<IdlePower> cpu, gpu;
};

}  // namespace dlroof::energy
