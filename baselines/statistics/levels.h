// The level of one benchmark in one run, and its error within the run. Pure.
//
// One process: the mean of the clean repetitions within 4.5 deviations of their median (by the
// median absolute deviation), with their standard error. Three or more processes: the mean of
// the fastest quarter of all repetitions, with the jackknife's error over processes. Other programs
// on a shared machine only make calls slower, so the fastest repetitions vary less from run to run
// than medians; and a process may be slow for as long as it lives, because of the memory pages and
// addresses that it got, so that the differences between processes are the error.
#pragma once

#include <optional>
#include <vector>

#include "baselines/statistics/shift.h"
#include "reporters/record/record.h"

namespace dlroof::statistics {

// Logarithms of the times [s] of each process, at least one time each.
using ProcessLogs = std::vector<std::vector<double>>;

// [1] With fewer processes a slow one cannot be told from the others.
inline constexpr std::size_t kMinProcesses = 3;
// [1] With fewer clean repetitions of one process the verdict is `insufficient`.
inline constexpr int kMinClean = 4;
// [1] Share of the repetitions of all processes, the fastest ones, whose mean is the level.
inline constexpr double kFastestShare = 0.25;

struct Level {
  double log_seconds = 0;  // [1]
  double count = 1;        // [1] repetitions, or processes
  double variance = 0;     // of one repetition or process
  double degrees = 0;      // [1] of freedom of `variance`
  // [1] Mean logarithm of the fastest quarter, if the level is that of one process.
  std::optional<double> fastest = {};

  double seconds() const;
};

// Returns the level of the clean repetitions, or of an aggregate with the deviation of its
// repetitions. Returns nothing for fewer than kMinClean clean repetitions, if less than half of all
// are clean (the others are then probably noisy without being marked), and for a time of 0.
std::optional<Level> LevelOfClean(const record::Record& record);

// Returns the logarithms of the times of all repetitions, noisy ones too, by block or process.
// Returns nothing for a GPU, for fewer than kMinProcesses processes, if a time is not positive,
// and if other programs shared the cores in more than half of the fastest tenth of the repetitions
// (Repetition::core_share): then they probably did all the time.
std::optional<ProcessLogs> TimesByProcess(const record::Record& record);

// Returns the level of the fastest `share` of all repetitions. Its error leaves out one process at
// a time (Efron and Stein, Annals of Statistics 9 (1981) 586). At least two processes.
Level LevelOfProcesses(const ProcessLogs& processes, double share = kFastestShare);

struct ProcessPair {
  ProcessLogs base, contender;
};

// Returns the times of both records, or nothing if one of them has none.
std::optional<ProcessPair> PairByProcess(const record::Record& base,
                                         const record::Record& contender);

// Returns the shift of two levels, with Student's interval at the level 1 - `error`.
Shift ShiftOfLevels(const Level& base, const Level& contender, double error = 0.05);

// The shift of an interleaved comparison, from the records of its two files.
struct BlocksShift {
  std::optional<PairedShift> paired;  // absent if too few blocks are clean
  std::size_t clean_blocks = 0;       // [1] at least half of their windows are clean
  // The fastest windows of all blocks, and their share; absent if the ratios of the blocks were
  // compared.
  std::optional<Level> base, contender;
  double share = 0;
};

// Returns MeasureSequentialShift of the blocks' ratios, or that of the fastest windows of
// all blocks, whichever is known better: the second from 20 blocks on, if its standard
// error is less than half of the first one's. That is so where other programs run nearly all the
// time. The fastest 10 or 5 % count where that halves the variance. Interval and p-value of both
// allow for kLooks tests. The ratio itself has no influence on the choice.
BlocksShift MeasureBlocks(const record::Record& base, const record::Record& contender);

}  // namespace dlroof::statistics
