// Memory: a row per level, mix of accesses, instruction set and page size.
#pragma once

#include <optional>

#include "ceilings/cpu/measure_session.h"

namespace dlroof {

// Adds the steps of a pass, counted from 0. They run on session.bench.
void AddBytesSteps(MeasureSession& session, int threads, int pass);
// Turns the rows into ceilings, the best of a level's into its roof.
void FinishBytes(MeasureSession& session);

// Returns the row of the mix that is DRAM's roof, on arrays of the same size; absent without one.
std::optional<RunningRow> DramRoofRow(const MeasureSession& session, int threads);

}  // namespace dlroof
