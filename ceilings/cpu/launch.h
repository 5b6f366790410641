// What a call costs beside its work: to start one primitive that does next to nothing, to fork and
// join a team of threads, to read the timer. Whoever can measure one registers how; a build without
// a library has no launch cost.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "ceilings/machine/rate.h"

namespace dlroof {

struct LaunchCost {
  double seconds = 0;  // [s] per call, finished when it returns; the best repetition
  bool clean = false;  // whether no thread waited for a CPU in it; else `seconds` means nothing
  std::string how;     // library, version, primitive, and the doubt where it was not proved
};

// The mean cost of one call of `calls(n)`, which makes n of them one after another; its threads'
// waiting is watched.
LaunchCost MeasureCalls(const std::function<void(std::int64_t)>& calls, const RatePolicy& policy);

// Runs on `threads` threads of the library where it lets us choose.
using LaunchProbe = std::function<LaunchCost(int threads, const RatePolicy& policy)>;

// At namespace scope: [[maybe_unused]] const bool registered = RegisterLaunchProbe(...);
bool RegisterLaunchProbe(LaunchProbe probe);

// By the first registered probe; absent when there is none. Throws what the library throws.
std::optional<LaunchCost> MeasureLaunch(int threads, const RatePolicy& policy);

// The other costs, each under a name of its own ("fork-join", "timer").
bool RegisterOverheadProbe(const std::string& name, LaunchProbe probe);
const std::map<std::string, LaunchProbe>& OverheadProbes();

}  // namespace dlroof
