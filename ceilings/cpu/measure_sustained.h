// Rates after 10 s without a pause: clocks fall with heat and power.
#pragma once

#include <string>

#include "ceilings/cpu/measure_session.h"

namespace dlroof {

// Adds steps that run rows of the largest thread count's roofs for 10 s: the pipe that heats most,
// in a thorough measurement all pipes and DRAM.
void AddSustainedSteps(MeasureSession& session);
// Writes to CeilingSet::sustained how a row's final rate [flop/s] or [byte/s] compares with its
// burst. Sets sustained_per_second of the row and its roof where they differ by more than 3 %.
// Pure.
void KeepSustained(Machine& machine, int threads, const std::string& row, double per_second);

}  // namespace dlroof
