// The runs of a history that say how much BASE varies from run to run.
#pragma once

#include <vector>

#include "baselines/compare/paired_record.h"
#include "baselines/history/history.h"

namespace dlroof::history {

// More runs say little more about the noise, and the program changes meanwhile.
inline constexpr int kMaxEarlierRuns = 30;

// Returns up to `most` of the newest runs on BASE's machine that are older than BASE (by date; runs
// without a date count as older), oldest first. Does not return a run without a benchmark of BASE.
std::vector<compare::NamedRun> EarlierRuns(const History& history, const compare::NamedRun& base,
                                           int most = kMaxEarlierRuns);

}  // namespace dlroof::history
