// Measures the energy of calls with the counters of one source, and fills windows with calls for
// external meters that sample once a second or less often.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/energy/energy.h"
#include "counters/energy/energy_source.h"

namespace dlroof::energy {

// The open counters of one source.
struct EnergyMeter {
  std::string from;  // the source's name, or empty if no source can count
  std::vector<EnergyDomain> domains;
  std::string covers;
  std::map<std::string, Reason> unavailable;  // the preferred sources that cannot count, by name
};

// Opens the first of `sources` that can count.
EnergyMeter OpenEnergyMeter(const EnergyPlace& place, const std::vector<EnergySource>& sources);

// Returns why a meter has no counters: "powercap: REASON; perf: REASON".
Reason NoEnergyReason(const EnergyMeter& meter);

struct EnergyWindows {
  double least_seconds = 0.5;     // [s] of a window
  std::function<double()> now;    // [s] of a steady clock
  std::function<bool()> stopped;  // returns whether to give up; may be empty
  // [s] CPU time of other programs so far, or nullopt if unknown; may be empty
  std::function<std::optional<double>()> others;
};

// Repeats `run`, one call, for three consecutive windows. If calls are shorter than the counters'
// update period, each window begins and ends at an update. The result has a reason if a counter
// does not advance, cannot be read, or may have wrapped around more than once in a window.
EnergyResult MeasureEnergy(const EnergyMeter& meter, const std::function<void()>& run,
                           const EnergyWindows& windows);

// Reads the counters before and after `wait`. Returns nullopt if one of them does not advance.
std::optional<IdlePower> MeasureIdlePower(const EnergyMeter& meter,
                                          const std::function<void()>& wait,
                                          const std::function<double()>& now);

struct WindowClocks {
  double least_seconds = 60;      // [s] of the window
  std::function<double()> now;    // [s] of a steady clock
  std::function<double()> utc;    // [s] since 1970, comparable with the meter's clock
  std::function<bool()> stopped;  // returns whether to give up; may be empty
};

struct WindowResult {
  std::optional<MeteredWindow> window;
  std::optional<Reason> reason;  // set only without `window`
};

// Repeats `run`, one call, for at least `clocks.least_seconds`. The result has a reason if it was
// stopped, or if the system's clock was set during the window.
WindowResult RepeatForMeter(const std::function<void()>& run, const WindowClocks& clocks);

// [s] since 1970.
double UtcSeconds();

}  // namespace dlroof::energy
