// The energy of one call, from energy counters of the machine (RAPL, NVML) or from the log of a
// meter of the whole node (BMC, PDU, wall).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "counters/base/error.h"

namespace dlroof::energy {

// A time span filled with calls of one benchmark, to be found in a meter's log later.
struct MeteredWindow {
  double begin_seconds = 0;  // [s] since 1970, UTC
  double end_seconds = 0;    // [s] the same
  double calls = 0;          // [1]

  bool operator==(const MeteredWindow&) const = default;
};

struct MeteredEnergy {
  double joules = 0;  // [J] of one call: the median over nodes
  // [J] 95 % interval: from the spread of the samples for one node, from the spread of the nodes
  // for six nodes or more.
  std::optional<std::pair<double, double>> ci95;
  double seconds = 0;         // [s] of one call in the window, median; joules / seconds is power
  double window_seconds = 0;  // [s] of the shortest window
  double period_seconds = 0;  // [s] between two samples of the slowest meter
  double samples = 0;         // [1] in the window, of the node with the fewest
  double nodes = 0;           // [1]
  std::string from;           // the log: "watts.csv"
  std::string covers;         // "all power of the node at its meter, idle parts too"

  bool operator==(const MeteredEnergy&) const = default;
};

struct Energy {
  double joules = 0;  // [J] of one call: the mean of three windows
  // [J] 95 % interval (Student's t over the three windows), unless it would include 0.
  std::optional<std::pair<double, double>> ci95;
  std::map<std::string, double> domains;  // [J] of one call; their sum is `joules`
  std::map<std::string, double> beside;   // [J] of one call: domains that overlap those ("psys")
  double seconds = 0;                 // [s] of one call in these windows; joules / seconds is power
  double window_seconds = 0;          // [s] of the shortest window
  double calls = 0;                   // [1] in all windows
  std::optional<double> others_cpus;  // [1] CPUs that other programs kept busy
  std::string from;                   // the source: "powercap"
  std::string covers;                 // "packages and DRAM; no fans, NIC, power supply"

  bool operator==(const Energy&) const = default;
};

// Returns whether other programs used enough CPU time (a tenth of a CPU) during the measurement
// that some of the energy may be theirs.
bool HasOthersEnergy(const Energy& energy);

// The outcome of one benchmark's measurements, as far as they were requested.
struct EnergyResult {
  std::optional<Energy> energy;
  std::optional<Reason> reason;  // why the requested `energy` is missing
  std::optional<MeteredWindow> window;
  std::optional<Reason> window_reason;  // why the requested `window` is missing
};

// Power of an idle machine.
struct IdlePower {
  double watts = 0;                       // [W] sum of `domains`
  std::map<std::string, double> domains;  // [W] each
  double seconds = 0;                     // [s] of the measurement
  std::string from, covers;               // as in Energy
};

struct IdlePowers {
  std::optional<IdlePower> cpu, gpu;
};

}  // namespace dlroof::energy
