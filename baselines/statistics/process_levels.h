// The level of a benchmark in a run that measured it in several processes: the mean of the fastest
// quarter of all repetitions, and its error from leaving out one process at a time. Pure.
//
// Other programs on a shared machine only make calls slower, so the fast repetitions of several
// processes agree from run to run where medians do not; and what a process keeps for its whole life
// (the pages and addresses that it was given) is in the error, since it differs between them.
#pragma once

#include <vector>

#include "baselines/statistics/robust.h"
#include "baselines/statistics/shift.h"

namespace dlroof::statistics {

// Logarithms of the times [s] of each process, at least one time each.
using ProcessLogs = std::vector<std::vector<double>>;

inline constexpr double kFastestShare = 0.25;  // [1] of all repetitions
// [1] Fewer processes tell neither a slow one from the others nor the error.
inline constexpr std::size_t kLeastProcesses = 3;

// Returns the number of repetitions in the fastest quarter of `count` > 0, rounded to the nearest,
// at least 1. [1]
std::size_t FastestCount(std::size_t count);

// Returns the mean logarithm of the fastest quarter of all repetitions.
double FastestLevel(const ProcessLogs& processes);

// Returns the variance of one process's share in FastestLevel: K of them have the level's variance
// times K (Tukey's pseudo-values; Efron and Stein, Annals of Statistics 9 (1981) 586). At least two
// processes.
Spread SpreadOfProcesses(const ProcessLogs& processes);

// Returns the shift of the levels, with the interval of Student's distribution. `cliffs_delta` is
// over all repetitions. At least kLeastProcesses on each side.
Shift ShiftOfProcesses(const ProcessLogs& base, const ProcessLogs& contender);

}  // namespace dlroof::statistics
