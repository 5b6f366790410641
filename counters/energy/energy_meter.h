// Measures the energy of calls with the counters of one source.
//
// Repeats calls in a window for a meter that is as slow as one sample a second, or slower.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/energy/energy.h"
#include "counters/energy/energy_source.h"

namespace dlroof::energy {

// The counters of one source, open.
struct EnergyMeter {
  std::string from;  // the source's name; empty: none can count
  std::vector<EnergyDomain> domains;
  std::string covers;
  std::map<std::string, std::string> unavailable;  // why not, by the name of each source before it
};

// Opens the first of `sources` that can count.
EnergyMeter OpenEnergyMeter(const EnergyPlace& place, const std::vector<EnergySource>& sources);

// "powercap: REASON; perf: REASON": of a meter without counters.
std::string WhyNoEnergy(const EnergyMeter& meter);

struct EnergyWindows {
  double least_seconds = 0.5;     // [s] of a window
  std::function<double()> now;    // [s] of a steady clock
  std::function<bool()> stopped;  // asks whether to give up; may be empty
  // [s] of CPUs that other programs took so far, absent: not known; may be empty
  std::function<std::optional<double>()> others;
};

// Repeats `run`, one call, for three windows one after another. Each begins and ends when the
// counters move, as far as calls are short enough to meet that moment. Absent with a reason: a
// counter stands still, cannot be read, or may have begun anew more than once in a window.
EnergyFound MeasureEnergy(const EnergyMeter& meter, const std::function<void()>& run,
                          const EnergyWindows& windows);

// Reads the counters before and after `wait`. Absent where one of them stands still.
std::optional<IdlePower> MeasureIdlePower(const EnergyMeter& meter,
                                          const std::function<void()>& wait,
                                          const std::function<double()>& now);

struct WindowClocks {
  double least_seconds = 60;      // [s] of the window
  std::function<double()> now;    // [s] of a steady clock
  std::function<double()> utc;    // [s] since 1970, by the clock that meters have too
  std::function<bool()> stopped;  // asks whether to give up; may be empty
};

struct WindowFound {
  std::optional<MeteredWindow> window;
  std::string why_not;  // empty: there is a `window`
};

// Repeats `run`, one call, for at least so many seconds. Absent with a reason: it was stopped, or
// somebody set the system's clock meanwhile.
WindowFound RepeatForMeter(const std::function<void()>& run, const WindowClocks& clocks);

// [s] since 1970.
double UtcSeconds();

}  // namespace dlroof::energy
