// The times of one benchmark in earlier runs, for the noise between runs. Pure.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "baselines/compare/paired_record.h"
#include "baselines/statistics/judge.h"

namespace dlroof::compare {

// Finds the records of earlier runs by name.
class EarlierRuns {
 public:
  // `runs` are oldest first and must outlive this. Skips runs of other machines or settings than
  // those of `base`.
  EarlierRuns(const std::vector<const NamedRun*>& runs, const NamedRun& base);

  // Returns the clean times of the benchmark, and those by process, in each run that has enough of
  // them and measured the same kind of time, oldest first. Leaves out copies of `base`.
  std::vector<statistics::EarlierTimes> TimesOf(const record::Record& base) const;
  int runs() const { return static_cast<int>(by_name_.size()); }

 private:
  std::vector<std::unordered_map<std::string_view, const record::Record*>> by_name_;
};

// Returns the logarithms of the clean times; empty for an aggregate and if a time is not positive.
std::vector<double> CleanLogs(const record::Record& record);

}  // namespace dlroof::compare
