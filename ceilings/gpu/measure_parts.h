// The parts of a GPU's measurement, in the order in which they run.
#pragma once

#include "ceilings/gpu/measure_session.h"

namespace dlroof {

// Measures every row. Fills session.rows.
void MeasureGpuRows(GpuSession& session);

// Adds the launch cost and the other overheads, or the reasons why they are absent.
void MeasureGpuOverheads(GpuSession& session, Machine& machine);

// Measures the fastest row of the hottest pipes for 10 s. Writes the rates of the first and the
// last second to CeilingSet::sustained. Sets a ceiling's sustained_per_second where the last
// differs by more than 3 %. Doubts a ceiling that a later second exceeded.
void WatchGpuFor10Seconds(GpuSession& session, Machine& machine);

}  // namespace dlroof
