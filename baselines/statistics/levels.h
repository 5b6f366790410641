// The level of one benchmark in one run (its typical log time), and its error within the run. Pure.
// Formulas: statistics.md. Other programs on a shared machine only slow calls down, so the fastest
// repetitions vary less from run to run than medians. A process may be slow for its whole life
// because of its memory pages and addresses, so differences between processes give the error.
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "baselines/statistics/shift.h"
#include "reporters/record/record.h"

namespace dlroof::statistics {

// Per process: logarithms of its times [s]; at least one time each.
using ProcessLogs = std::vector<std::vector<double>>;

// [1] With fewer processes a slow one cannot be recognized.
inline constexpr std::size_t kMinProcesses = 3;
// [1] With fewer clean repetitions of one process the verdict is `insufficient`.
inline constexpr int kMinClean = 4;
// [1] The level of several processes is the mean of this share of all repetitions, the fastest.
inline constexpr double kFastestShare = 0.25;

struct Level {
  double log_seconds = 0;  // [1] natural logarithm of the time in seconds
  double count = 1;        // [1] number of repetitions, or of processes
  double variance = 0;     // of log_seconds of one repetition or process
  double degrees = 0;      // [1] degrees of freedom of `variance`
  // [1] mean log time of the fastest quarter; only for levels of one process
  std::optional<double> fastest = {};
  // [1] second largest distance of a log time from the median (not the largest: bursts of other
  // programs slow more than one repetition); only for levels of one process
  double farthest = 0;

  double seconds() const { return std::exp(log_seconds); }
};

// Returns the level of the clean repetitions or, if the file has only an aggregate (e.g. the mean)
// with its deviation, of that. Returns nullopt if fewer than kMinClean or less than half of the
// repetitions are clean (then these are probably noisy, too), and for a time of 0.
std::optional<Level> LevelOfClean(const record::Record& record);

// Returns the logarithms of all times (noisy ones too) by process (Repetition::block). Returns
// nullopt for GPUs, fewer than kMinProcesses processes, a time that is not positive, and if other
// programs probably ran all the time: they shared the cores (core_share, link_share), or the main
// thread waited for a core, in more than half of the fastest tenth of the repetitions.
std::optional<ProcessLogs> TimesByProcess(const record::Record& record);

// Returns the level of the fastest `share` of all repetitions, with a jackknife error over
// processes (Efron and Stein, Annals of Statistics 9 (1981) 586). Needs at least two processes.
Level LevelOfProcesses(const ProcessLogs& processes, double share = kFastestShare);

// Returns the shift between two levels, with Student's interval at level 1 - `error`.
Shift ShiftOfLevels(const Level& base, const Level& contender, double error = 0.05);

// The levels of two records, computed in the same way.
struct LevelPair {
  Level base, contender;
  std::optional<double> fastest_share = {};  // [1] set for levels of several processes
};

// Returns the levels of several processes if both records have them, otherwise those of the clean
// times. Returns nullopt if a record has too few clean times, or a time of 0.
std::optional<LevelPair> LevelsOf(const record::Record& base, const record::Record& contender);

// The shift of an interleaved comparison, from one benchmark's records in the two run files.
struct BlocksShift {
  std::optional<Shift> paired;  // nullopt if there are too few blocks
  std::size_t blocks = 0;       // [1] number of blocks
  // The shift is the difference of these log levels: those of the fastest windows of all blocks. If
  // the blocks' ratios were compared, there are no levels of times: BASE's is 0, exact, and the
  // contender's is the log ratio with its error.
  LevelPair levels;
};

// Returns MeasureSequentialShift of the blocks' ratios or, from 20 blocks on, the shift of the
// fastest windows (repetitions) of all blocks if its standard error is less than half of the
// ratios' (e.g. if other programs run nearly all the time). Both share the allowed error among the
// tests of kLooks (shift.h).
BlocksShift MeasureBlocks(const record::Record& base, const record::Record& contender);

}  // namespace dlroof::statistics
