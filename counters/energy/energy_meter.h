// Measures the energy of calls with the counters of one source.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "counters/energy/energy.h"
#include "counters/energy/energy_source.h"

namespace dlroof::energy {

// The opened counters of one source: powercap for CPUs, NVML for GPUs.
struct EnergyMeter {
  std::string from;  // "powercap"; empty if it cannot count
  std::vector<EnergyDomain> domains;
  std::string covers;
  std::optional<Reason> unavailable;  // why it cannot count: "powercap: REASON"
};

// Opens the CPU's counters.
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

// Measures the machine's power while `wait` runs. Returns nullopt if a counter does not advance.
std::optional<IdlePower> MeasureIdlePower(const EnergyMeter& meter,
                                          const std::function<void()>& wait,
                                          const std::function<double()>& now);

}  // namespace dlroof::energy
