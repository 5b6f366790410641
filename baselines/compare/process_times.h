// The times of a benchmark that a run measured in several processes (dlroof run --processes). Pure.
#pragma once

#include <optional>
#include <utility>

#include "baselines/statistics/process_levels.h"
#include "reporters/record/record.h"

namespace dlroof::compare {

// Returns the logarithms of the times of all repetitions, noisy ones too, by process. Returns
// nothing for a GPU, for fewer than statistics::kLeastProcesses processes, if a time is not
// positive, and if more than half of the fastest quarter of the repetitions is noisy: then the
// program was probably disturbed all the time.
std::optional<statistics::ProcessLogs> TimesByProcess(const record::Record& record);

struct ProcessPair {
  statistics::ProcessLogs base, contender;
};

// Returns the times of both records, or nothing if one of them has none.
std::optional<ProcessPair> PairByProcess(const record::Record& base,
                                         const record::Record& contender);

}  // namespace dlroof::compare
