// Measures the energy of calls with the counters of one source: powercap (CPU) or counters that
// another module provides (NVML). Also measures the CPU time of other programs, because the counter
// of a package includes their energy.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "counters/base/error.h"

namespace dlroof::energy {

// The energy of one call, from energy counters of the machine (RAPL, NVML).
struct Energy {
  double joules = 0;  // [J] of one call, mean of three windows
  // [J] 95 % interval (Student's t over the three windows). Unset if it would include 0.
  std::optional<std::pair<double, double>> ci95;
  std::map<std::string, double> domains;  // [J] of one call; their sum is `joules`
  std::map<std::string, double> beside;   // [J] of one call, in domains that `joules` leaves out
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

// The energy of one benchmark. Both members are unset if the energy was not requested.
struct EnergyResult {
  std::optional<Energy> energy;
  std::optional<Reason> reason;  // why the requested `energy` is missing
};

struct EnergyDomain {
  std::string name;     // "package-0", "dram-0", "psys", "gpu"
  bool counted = true;  // false if it contains other domains ("psys") and is not in the sum
  // Returns the energy [J] since some fixed moment. Throws BadInput if it cannot be read.
  std::function<double()> joules;
  std::optional<double> range_joules;  // [J] at which the counter wraps around
};

struct EnergyPlace {
  std::filesystem::path sysfs = "/sys";
  std::vector<int> allowed_cpus;  // CPUs that this process may use, ascending
};

// Returns the root of the sysfs tree: $DLROOF_SYSFS (for tests), otherwise /sys.
std::filesystem::path SysfsRoot();

// Returns the busy time [s] of all CPUs since boot from the text of /proc/stat, or nullopt if the
// text has another format.
std::optional<double> BusySeconds(std::string_view stat, double ticks_per_second);

// Returns the CPU time [s] of other programs since boot, or nullopt if it is unknown.
std::optional<double> CpuSecondsOfOthers();

// The opened counters of one source: powercap for CPUs, NVML for GPUs.
struct EnergyMeter {
  std::string from;  // "powercap"; empty if it cannot count
  std::vector<EnergyDomain> domains;
  std::string covers;                 // "packages and DRAM; no fans, NIC, power supply"
  std::optional<Reason> unavailable;  // why it cannot count: "powercap: REASON"
};

// Opens powercap's counters. Throws BadInput, with reason and cure, if no domain can be counted.
EnergyMeter OpenPowercap(const EnergyPlace& place);
// Opens the CPU's counters. Sets EnergyMeter::unavailable if that fails.
EnergyMeter OpenEnergyMeter(const EnergyPlace& place);

struct EnergyWindows {
  double least_seconds = 0.5;     // [s] minimum duration of a window
  std::function<double()> now;    // returns [s] of a steady clock
  std::function<bool()> stopped;  // returns whether to stop early; may be empty
  // Returns the CPU time [s] of other programs, or nullopt if it is unknown; may be empty.
  std::function<std::optional<double>()> others;
};

// Measures the energy of `run`, which is one call, in three consecutive windows of repeated calls.
// If calls are shorter than the counters' update period, each window begins and ends when a counter
// is updated. The result has a reason if a counter does not advance, cannot be read, or may have
// wrapped around more than once in a window.
EnergyResult MeasureEnergy(const EnergyMeter& meter, const std::function<void()>& run,
                           const EnergyWindows& windows);

}  // namespace dlroof::energy
