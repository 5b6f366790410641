// The energy of one call: from energy counters of the machine (RAPL, NVML), or from the log of a
// power meter of the whole node (BMC, PDU, wall).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "counters/base/error.h"

namespace dlroof::energy {

// A time span filled with calls of one benchmark, to find these calls later in a power meter's log.
struct MeteredWindow {
  double begin_seconds = 0;  // [s] since 1970, UTC
  double end_seconds = 0;    // [s] since 1970, UTC
  double calls = 0;          // [1] in the window

  bool operator==(const MeteredWindow&) const = default;
};

struct MeteredEnergy {
  double joules = 0;  // [J] of one call: the median over nodes
  // [J] 95 % interval, for one node from the spread of its samples, for six nodes or more from the
  // spread of the nodes, otherwise unset.
  std::optional<std::pair<double, double>> ci95;
  double seconds = 0;         // [s] of one call, median; power is joules / seconds
  double window_seconds = 0;  // [s] of the shortest window
  double period_seconds = 0;  // [s] between two samples of the slowest meter
  double samples = 0;         // [1] of the meter in the window, the smallest of all nodes
  double nodes = 0;           // [1] number of nodes
  std::string from;           // name of the log: "watts.csv"
  std::string covers;         // "all power of the node at its meter, idle parts too"

  bool operator==(const MeteredEnergy&) const = default;
};

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

// Energy and window of one benchmark. Those that were not requested are unset, without a reason.
struct EnergyResult {
  std::optional<Energy> energy;
  std::optional<Reason> reason;  // why the requested `energy` is missing
  std::optional<MeteredWindow> window;
  std::optional<Reason> window_reason;  // why the requested `window` is missing
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
