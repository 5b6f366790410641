// A time breakdown as sentences. Pure.
#pragma once

#include <optional>
#include <string>

#include "counters/base/parallel_time.h"
#include "reporters/roofline/breakdown.h"

namespace dlroof::roofline {

// Returns the call's instructions, how they were counted, and the share of one core's issue slots
// that they fill in the single-threaded call. Returns the reason if they were not counted, and
// nullopt if the call was not made on one thread.
std::optional<std::string> InstructionSentence(const ParallelTime& parallel);

// Returns a sentence on the largest component except kRoof: its share and what to try.
std::optional<std::string> BreakdownAdvice(const Breakdown& breakdown);

}  // namespace dlroof::roofline
