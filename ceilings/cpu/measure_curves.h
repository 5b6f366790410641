// Bandwidth by working set, and FLOP/s by intensity: the curves beside the roofs.
#pragma once

#include <vector>

#include "ceilings/cpu/measure_session.h"
#include "ceilings/cpu/sweep.h"

namespace dlroof {

// Where the system tells no cache sizes: sweeps over working sets, seconds, and the topology of
// `session` gets the caches that they show (CachesFromEdges). What was found, or that nothing was,
// is in the machine's facts for each of these thread counts ("sweep.caches.threads.1").
void FindUntoldCaches(MeasureSession& session, const std::vector<int>& counts);

// The sweep over working sets in the first pass; the ridges in the last, when roofs are known that
// say where the knees are.
void AddCurveSteps(MeasureSession& session, int threads, int pass);
// What is told and what the sweep found for a team; nothing found without a sweep.
LevelEdges EdgesOf(const MeasureSession& session, int threads);
// Says in the machine's facts how the sweep's edges agree with the sizes of the
// caches ("sweep.l2.threads.1").
void FinishCurves(MeasureSession& session);

}  // namespace dlroof
