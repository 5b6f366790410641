// Residuals: distances of measurements from a model's predictions, and their differences between
// two runs. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "baselines/statistics/judge.h"
#include "reporters/record/record.h"

namespace dlroof {

// Measured over predicted [1] of one record, by "time" (median of clean repetitions) and the
// levels' keys: bytes that a counter measured, else those of a simulation; a formula is no
// measurement. Absent where one of the two is unknown or zero.
std::map<std::string, double> ResidualsOf(const Record& record);

// One residual that both records have.
struct Residual {
  std::string of;              // "time", "l1", "l2", "dram"
  double base = 1, fresh = 1;  // [1] measured over predicted
  bool moved = false;          // time: as it was judged; bytes: by more than kCountedCount
  bool worse = false;          // moved, and away from 1

  // "dram residual (measured over predicted) grew from 1.02 to 1.31"
  std::string Text() const;
};

// `time`: the verdict of the measured times' ratio over that of the predicted ones; absent where it
// was not judged: no residual of the time then.
std::vector<Residual> CompareResiduals(const Record& base, const Record& fresh,
                                       std::optional<Verdict> time);

// The mean of all benchmarks' residuals of one kind.
struct ResidualMean {
  double base = 0, fresh = 0;  // [1] mean of |measured over predicted - 1|
  int benchmarks = 0;          // [1] that have it in both runs
};

void AddTo(std::map<std::string, ResidualMean>& means, const std::vector<Residual>& residuals);

// "residuals (measured over predicted, mean distance from 1): dram 2.0 % -> 5.1 % (9 benchmarks)";
// empty where there is none.
std::string Describe(const std::map<std::string, ResidualMean>& means);

}  // namespace dlroof
