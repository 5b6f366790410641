#include "counters/energy/meter_window.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

namespace dlroof::energy {
namespace {

// A clock that follows others is never more than 500 ppm fast or slow (NTP). A jump is more.
constexpr double kMostSlewed = 1e-3;      // [1]
constexpr double kMostJumpSeconds = 0.1;  // [s] beside the fastest meters' period

}  // namespace

WindowFound RepeatForMeter(const std::function<void()>& run, const WindowClocks& clocks) {
  MeteredWindow window;
  const double begin = clocks.now();
  window.begin_seconds = clocks.utc();
  double seconds = 0;
  do {
    if (clocks.stopped && clocks.stopped()) return {{}, "interrupted"};
    run();
    ++window.calls;
    seconds = clocks.now() - begin;
  } while (seconds < clocks.least_seconds);
  window.end_seconds = clocks.utc();
  const double set = window.end_seconds - window.begin_seconds - seconds;
  if (std::abs(set) > kMostJumpSeconds + kMostSlewed * seconds)
    return {{}, fmt::format("the system's clock was set by {:+.1f} s meanwhile", set)};
  return {window, ""};
}

double UtcSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace dlroof::energy
