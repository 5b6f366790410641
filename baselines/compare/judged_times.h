// Which times of two GPU records a comparison judges: the same kind on both sides. Pure.
#pragma once

#include <optional>
#include <string>

#include "baselines/statistics/shift.h"
#include "reporters/record/record.h"

namespace dlroof::compare {

// Two records whose Repetition::seconds are of the same kind.
struct JudgedTimes {
  record::Record base, contender;
  std::string timed;  // "device", "graph", "throughput" or "call" (record::timed)
};

// Returns copies of two GPU records with the times to judge. The device's own times come first,
// because the host's noise is not in them: of queued calls, else in a CUDA graph, else back to
// back, if every repetition of both records has them; otherwise of calls with their launch.
// `noisy` is decided anew where the host no longer matters. Returns nullopt if the records already
// are of one kind and that is the best one, or if a record has no GPU samples; then the records
// are judged as they are. Throws Unsupported if they have no kind in common.
std::optional<JudgedTimes> ChooseTimes(const record::Record& base, const record::Record& contender);

// Returns the shift of the times that ChooseTimes chooses, or nullopt if there is none.
std::optional<statistics::Shift> JudgedShift(const record::Record& base,
                                             const record::Record& contender);

// Natural logarithm of the ratio CONTENDER / BASE of the SM cycles of a call (seconds x SM clock,
// medians), or nullopt if a clock is not known.
std::optional<double> CyclesLogRatio(const record::Record& base, const record::Record& contender);

}  // namespace dlroof::compare
