// Bandwidth by working set, and FLOP/s by intensity: the curves beside the roofs.
#pragma once

#include "ceilings/measure_session.h"

namespace dlroof {

// The sweep over working sets in the first pass; the ridges in the last, when roofs are known that
// say where the knees are.
void AddCurveSteps(MeasureSession& session, int threads, int pass);
// Says in the machine's facts how the sweep's edges agree with the sizes of the
// caches ("sweep.l2.threads.1").
void FinishCurves(MeasureSession& session);

}  // namespace dlroof
