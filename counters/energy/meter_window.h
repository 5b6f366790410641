// Repeats calls in a window for a meter that is as slow as one sample a second, or slower.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "counters/energy/metered.h"

namespace dlroof::energy {

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
