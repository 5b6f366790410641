// What changed between a benchmark's two records besides its time, to explain a change of its time.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reporters/record/record.h"

namespace dlroof::compare {

struct Change {
  std::string_view kind;  // "algorithm", "flops", "bytes", "launches", "clock", "disturbed", "run"
  std::string text;       // "dram bytes (measured) grew by 12.0 %, from 1.00 MB to 1.12 MB"
};

// Returns the changes, the best explanation first. FLOPs, bytes and launches are compared by the
// most trusted provenance that both records have, counts within 5 %. The clock is that of a GPU's
// SMs in clean repetitions or else that at which the ceilings were measured. Machines may be null.
// Modelled FLOPs are compared only if both were counted by the same convention (`flops_alike`).
std::vector<Change> FindChanges(const record::Record& base, const machine::Machine* base_machine,
                                const record::Record& contender,
                                const machine::Machine* contender_machine, bool flops_alike = true);

// Returns the changes' texts in one line, or "unexplained: ..." if there are none. A change that
// should have had the opposite effect (slower, but fewer bytes) is listed like the others.
std::string CausesText(const std::vector<Change>& changes);

}  // namespace dlroof::compare
