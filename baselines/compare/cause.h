// Why a benchmark moved: what else changed between its two records, and residuals, the distances of
// measurements from a model's predictions. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/statistics/judge.h"
#include "reporters/record/record.h"

namespace dlroof::compare {

enum class ChangeKind { kAlgorithm, kFlops, kBytes, kLaunches, kClock, kNoisy };
std::string_view Key(ChangeKind kind);

struct Change {
  ChangeKind kind = ChangeKind::kAlgorithm;
  std::optional<Level> level;   // of bytes
  std::optional<double> ratio;  // [1] NEW / BASE, of what is a quantity
  std::string text;             // "dram bytes (measured) grew by 12.0 %, from 1.00 MB to 1.12 MB"
};

// [1] Counters and simulations repeat themselves within this share.
inline constexpr double kCounterTolerance = 0.05;

// In the order in which they explain a time: algorithm, FLOPs per pipe, bytes per level, launches
// (each of one provenance that both records have, best known first), clock (of a GPU's SMs in
// clean repetitions where both runs know it, else under the ceilings of the record's pipes, where
// both runs measured it), noisy repetitions. Machines may be null.
std::vector<Change> FindChanges(const record::Record& base, const machine::Machine* base_machine,
                                const record::Record& contender,
                                const machine::Machine* contender_machine);

// One line: the changes' texts; "unexplained: ..." when there is none. A clock or a quantity that
// went the other way (`slower`, but fewer bytes) is said to be so by its text alone.
std::string CausesText(const std::vector<Change>& changes);

// Measured over predicted [1] of one record, by "time" (median of clean repetitions) and the
// levels' keys: bytes that a counter measured, else those of a simulation; a formula is no
// measurement. Absent where one of the two is unknown or zero.
std::map<std::string, double> ResidualsOf(const record::Record& record);

// One residual that both records have.
struct Residual {
  std::string of;                  // "time", "l1", "l2", "dram"
  double base = 1, contender = 1;  // [1] measured over predicted
  bool moved = false;              // time: as it was judged; bytes: by more than kCounterTolerance
  bool worse = false;              // moved, and away from 1

  // "dram residual (measured over predicted) grew from 1.02 to 1.31"
  std::string Text() const;
};

// `time`: the verdict of the measured times' ratio over that of the predicted ones; absent where it
// was not judged: no residual of the time then.
std::vector<Residual> CompareResiduals(const record::Record& base, const record::Record& contender,
                                       std::optional<statistics::Verdict> time);

// The mean of all benchmarks' residuals of one kind.
struct ResidualMean {
  double base = 0, contender = 0;  // [1] mean of |measured over predicted - 1|
  int benchmarks = 0;              // [1] that have it in both runs
};

void AddTo(std::map<std::string, ResidualMean>& means, const std::vector<Residual>& residuals);

// "residuals (measured over predicted, mean distance from 1): dram 2.0 % -> 5.1 % (9 benchmarks)";
// empty where there is none.
std::string Describe(const std::map<std::string, ResidualMean>& means);

}  // namespace dlroof::compare
