// What it costs to start one primitive that does next to nothing. Libraries register how they
// measure it; a build without them has none.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ceilings/rate.h"

namespace dlroof {

struct LaunchCost {
  double seconds = 0;  // [s] per call, finished when it returns; the best repetition
  bool clean = false;  // whether no thread waited for a CPU in it; else `seconds` means nothing
  std::string how;     // library, version, primitive, and the doubt where it was not proved
};

// Runs on `threads` threads of the library where it lets us choose.
using LaunchProbe = std::function<LaunchCost(int threads, const RatePolicy& policy)>;

// At namespace scope: [[maybe_unused]] const bool registered = RegisterLaunchProbe(...);
bool RegisterLaunchProbe(LaunchProbe probe);

// By the first registered probe; absent when there is none. Throws what the library throws.
std::optional<LaunchCost> MeasureLaunch(int threads, const RatePolicy& policy);

}  // namespace dlroof
