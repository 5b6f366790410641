// Costs of work beside its arithmetic and its traffic.
#pragma once

#include "ceilings/cpu/measure_session.h"

namespace dlroof {

// Adds the steps. They come last: the library's own threads spin for a while after each call.
void AddOverheadSteps(MeasureSession& session, int threads);

}  // namespace dlroof
