// The families of steps of a CPU's measurement, in the order in which they run. Passes are counted
// from 0. Steps run on session.bench.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ceilings/cpu/measure_session.h"
#include "ceilings/cpu/sweep.h"

namespace dlroof {

// ---- arithmetic: a row per pipe and instruction set ----

// Adds the steps of a pass.
void AddFlopsSteps(MeasureSession& session, int threads, int pass);
// Turns the rows into ceilings.
void FinishFlops(MeasureSession& session);
// Adds "fp32.vector" as the row of "fp32.vector.<...>" that ChooseRoof takes, for every pipe with
// finer rows. `how` names it. Pure.
void AddPlainPipes(std::map<std::string, Ceiling>& flops);

// ---- memory: a row per level, mix of accesses, instruction set and page size ----

// Adds the steps of a pass.
void AddBytesSteps(MeasureSession& session, int threads, int pass);
// Turns the rows into ceilings, the best of a level's into its roof.
void FinishBytes(MeasureSession& session);
// Returns the row of the mix that is DRAM's roof, on arrays of the same size; absent without one.
std::optional<RunningRow> DramRoofRow(const MeasureSession& session, int threads);

// ---- curves beside the roofs: bandwidth by working set, FLOP/s by intensity ----

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

// ---- another pass for unproved rows that a roof rests on ----

// Runs one more pass of each row that decides a roof and did not prove itself, as long as the
// effort has time. Needs the ceilings. Returns true where a row ran: then finish the ceilings
// again.
bool MeasureUnprovedAgain(MeasureSession& session);
// Returns true for a row that another pass could prove.
bool DecidesAnUnprovedRoof(const CeilingSet& set, const std::string& row);
// Returns the roof that has the rate of this row of CeilingSet::flops or ::mixes; null: none.
Ceiling* RoofOf(CeilingSet& set, const std::string& row);
const Ceiling* RoofOf(const CeilingSet& set, const std::string& row);

// ---- rates after 10 s without a pause: clocks fall with heat and power ----

// Adds steps that run rows of the largest thread count's roofs for 10 s: the pipe that heats most,
// in a thorough measurement all pipes and DRAM.
void AddSustainedSteps(MeasureSession& session);
// Writes to CeilingSet::sustained how a row's final rate [flop/s] or [byte/s] compares with its
// burst. Sets sustained_per_second of the row and its roof where they differ by more than 3 %.
// Pure.
void KeepSustained(Machine& machine, int threads, const std::string& row, double per_second);

// ---- costs of work beside its arithmetic and its traffic ----

// Adds the steps. They come last: the library's own threads spin for a while after each call.
void AddOverheadSteps(MeasureSession& session, int threads);

}  // namespace dlroof
