// Measures the fastest row of the hottest pipes for 10 s.
#pragma once

#include "ceilings/gpu/measure_session.h"

namespace dlroof {

// Writes the rates of the first and the last second to CeilingSet::sustained. Sets a ceiling's
// sustained_per_second where the last differs by more than 3 %. Doubts a ceiling that a later
// second exceeded.
void WatchGpuFor10Seconds(GpuSession& session, Machine& machine);

}  // namespace dlroof
