// Costs of a call beside its work: starting a tiny primitive, forking and joining a team, reading
// the timer. Rooms register their probes. A build without a library has no launch cost.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "ceilings/machine/rate.h"

namespace dlroof::cpu_ceilings {

struct LaunchCost {
  double seconds = 0;  // [s] per call, finished when it returns; the best repetition
  bool clean = false;  // no thread waited for a CPU; else `seconds` means nothing
  std::string how;     // library, version, primitive, and the doubt where it was not proved
};

// Returns the mean cost of one call. `calls(n)` makes n calls one after another. Watches the waits
// of its threads.
LaunchCost MeasureCalls(const std::function<void(std::int64_t)>& calls, const machine::RatePolicy& policy);

// Runs on `threads` threads of the library where it lets us choose.
using LaunchProbe = std::function<LaunchCost(int threads, const machine::RatePolicy& policy)>;

// Each under a name of its own: "launch" for the start of a primitive, "fork-join", "timer". At
// namespace scope: [[maybe_unused]] const bool registered = RegisterOverheadProbe(...);
bool RegisterOverheadProbe(const std::string& name, LaunchProbe probe);
const std::map<std::string, LaunchProbe>& OverheadProbes();

}  // namespace dlroof::cpu_ceilings
