// Measures every row of a GPU.
#pragma once

#include "ceilings/gpu/measure_session.h"

namespace dlroof {

// Fills session.rows.
void MeasureGpuRows(GpuSession& session);

}  // namespace dlroof
