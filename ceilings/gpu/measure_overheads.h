// Measures the costs of a GPU's work beside its arithmetic and its traffic.
#pragma once

#include "ceilings/gpu/measure_session.h"

namespace dlroof {

// Adds the launch cost and the other overheads, or the reasons why they are absent.
void MeasureGpuOverheads(GpuSession& session, Machine& machine);

}  // namespace dlroof
