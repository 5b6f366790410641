// Bandwidth by working set, and FLOP/s by intensity: the curves beside the roofs.
#pragma once

#include <vector>

#include "ceilings/cpu/measure_session.h"
#include "ceilings/cpu/sweep.h"

namespace dlroof {

// Sweeps over working sets, for seconds, where the system tells no cache sizes. The topology of
// `session` gets the caches that they show (CachesFromEdges). `edges` of each thread count gets the
// result under "caches".
void FindUntoldCaches(MeasureSession& session, const std::vector<int>& counts);

// Adds the sweep over working sets to the first pass. Adds the ridges to the last pass, when the
// known roofs give the knees.
void AddCurveSteps(MeasureSession& session, int threads, int pass);
// Returns the told sizes and the found edges of a team. Without a sweep `found` is empty.
LevelEdges EdgesOf(const MeasureSession& session, int threads);
// Writes to CeilingSet::edges how the sweep agrees with the sizes of the caches.
void FinishCurves(MeasureSession& session);

}  // namespace dlroof
