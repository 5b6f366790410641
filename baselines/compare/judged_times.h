// Which times of two GPU records a comparison judges: the same kind on both sides. Pure.
#pragma once

#include <optional>
#include <string>

#include "reporters/record/record.h"

namespace dlroof::compare {

// Two records whose Repetition::seconds are of the same kind.
struct JudgedTimes {
  record::Record base, contender;
  std::string timed;  // "device", "graph", "throughput" or "call" (record::timed)
  // [s] What was added to the contender's queued times: the empty kernel's time of the base minus
  // that of the contender. A launch from a stream costs some 0.2 us more or less in every process.
  std::optional<double> added_seconds = {};
};

// Returns copies of two GPU records with the times to judge. The device's own times come first,
// because the host's noise is not in them: of queued calls, else in a CUDA graph, else back to
// back, if every repetition of both records has them; otherwise of calls with their launch. Queued
// times are corrected for the empty kernel (added_seconds). `noisy` is decided anew where the host
// no longer matters. Returns nullopt if both are times of calls that follow each other, or if both
// have only times of calls with their launch, or if a record has no GPU samples; then the records
// are judged as they are. Throws Unsupported if they have no kind in common.
std::optional<JudgedTimes> ChooseTimes(const record::Record& base, const record::Record& contender);

// Returns the logarithm of NEW / BASE of the times that ChooseTimes chooses, or nullopt if there is
// none.
std::optional<double> JudgedLogRatio(const record::Record& base, const record::Record& contender);

// Returns whether the record's times are a GPU's own, in which the host has no part.
bool IsDeviceTime(const record::Record& record);

// Natural logarithm of the ratio CONTENDER / BASE of the SM cycles of a call (seconds x SM clock,
// medians), or nullopt if a clock is not known.
std::optional<double> CyclesLogRatio(const record::Record& base, const record::Record& contender);

}  // namespace dlroof::compare
