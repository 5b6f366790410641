// A time breakdown as sentences and as a bar of its components. Pure.
#pragma once

#include <optional>
#include <string>

#include "counters/parallel_time.h"
#include "reporters/breakdown/breakdown.h"
#include "reporters/document/document.h"

namespace dlroof::breakdown {

// Returns the call's instructions, how they were counted, and the share of one core's issue slots
// that they fill in the single-threaded call. Returns the reason if they were not counted, and
// nullopt if the call was not made on one thread.
std::optional<std::string> InstructionSentence(const ParallelTime& parallel);

// Returns a sentence on the largest component except kRoof: its share and what to try.
std::optional<std::string> BreakdownAdvice(const Breakdown& breakdown);

// Returns a part per component, with its meaning and its provenance, and notes on efficiencies.
document::Bar BarOf(const Breakdown& breakdown);

}  // namespace dlroof::breakdown
