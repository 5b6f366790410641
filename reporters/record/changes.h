// What changed between a benchmark's records in two runs besides the time, to explain a change in
// time. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reporters/record/record.h"

namespace dlroof::record {

struct Change {
  std::string_view kind;  // "algorithm", "flops", "bytes", "launches", "clock", "disturbed", "run"
  std::string text;       // "dram bytes (measured) grew by 12.0 %, from 1.00 MB to 1.12 MB"
};

// Returns the changes, most likely cause first. FLOPs, bytes and launches are compared by the most
// trusted provenance that both records have; counters may differ by 5 %. The clock is the SM clock
// of a GPU's clean repetitions, otherwise the clock at which the ceilings were measured. Machines
// may be null. Modelled FLOPs are compared only if `flops_alike`: both runs count them by the same
// convention.
std::vector<Change> FindChanges(const Record& base, const machine::Machine* base_machine,
                                const Record& contender, const machine::Machine* contender_machine,
                                bool flops_alike = true);

// Returns the changes in one line, or "unexplained: ..." if there are none. Changes in the opposite
// direction (slower, but fewer bytes) are listed too.
std::string CausesText(const std::vector<Change>& changes);

}  // namespace dlroof::record
