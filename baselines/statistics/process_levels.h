// The level of a benchmark that was measured in several processes: the mean of the fastest part of
// all repetitions, and its error from leaving out one process at a time. Pure.
//
// Why: other programs on a shared machine only make calls slower, so the fastest repetitions vary
// less from run to run than medians. And a process may be slow for as long as it runs, because of
// the memory pages and addresses that it got: the differences between processes are in the error.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "baselines/statistics/robust.h"
#include "baselines/statistics/shift.h"
#include "reporters/record/record.h"

namespace dlroof::statistics {

// Logarithms of the times [s] of each process, at least one time each.
using ProcessLogs = std::vector<std::vector<double>>;

struct ProcessPair {
  ProcessLogs base, contender;
};

// [1] Shares of all repetitions that ChooseShare chooses from, the usual one first.
inline constexpr std::array<double, 3> kFastestShares = {0.25, 0.1, 0.05};
// [1] With fewer processes a slow one cannot be told from the others.
inline constexpr std::size_t kMinProcesses = 3;

// Returns the number of repetitions in this share of `count` > 0, rounded to the nearest, at least
// 1. [1]
std::size_t FastestCount(std::size_t count, double share);

// Returns the mean logarithm of the fastest `share` of all repetitions.
double FastestLevel(const ProcessLogs& processes, double share);

// Returns the number of processes times the jackknife variance of FastestLevel, leaving out one
// process at a time (Efron and Stein, Annals of Statistics 9 (1981) 586): the level's variance if
// there were one process. At least two processes.
Spread SpreadOfProcesses(const ProcessLogs& processes, double share);

// Returns the shift of the levels, with the interval of Student's distribution. `cliffs_delta` is
// over all repetitions. At least two processes on each side.
Shift ShiftOfProcesses(const ProcessPair& pair, double share);

// Returns the share for all of these benchmarks: a smaller one than the usual if it halves the
// variance of the shifts (geometric mean over the benchmarks), and these variances together have
// enough degrees of freedom. The shifts themselves have no influence.
double ChooseShare(const std::vector<const ProcessPair*>& pairs);

// Returns the logarithms of the times of all repetitions, noisy ones too, by block or process.
// Returns nothing for a GPU, for fewer than kMinProcesses processes, if a time is not positive,
// and if other programs shared the cores in more than half of the fastest tenth of the repetitions
// (Repetition::core_share): then they probably did all the time.
std::optional<ProcessLogs> TimesByProcess(const record::Record& record);

// Returns the times of both records, or nothing if one of them has none.
std::optional<ProcessPair> PairByProcess(const record::Record& base,
                                         const record::Record& contender);

}  // namespace dlroof::statistics
