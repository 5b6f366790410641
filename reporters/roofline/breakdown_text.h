// A time breakdown as sentences and as a waterfall chart of text bars. Pure.
#pragma once

#include <iosfwd>
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

// Returns 40 columns with a bar from `begin` to `end` (shares of the total), at least 1 wide.
std::string WaterfallBar(double begin, double end);

// Writes a line per component: a bar that begins where the previous bar ended, the time, the
// meaning and the provenance. Then writes the efficiencies.
void WriteWaterfall(const Breakdown& breakdown, std::ostream& out);

}  // namespace dlroof::roofline
