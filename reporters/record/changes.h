// What else changed between a benchmark's records in two runs, to explain a change of its time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reporters/record/record.h"

namespace dlroof::record {

struct Change {
  std::string_view kind;  // "algorithm", "flops", "bytes", "launches", "clock", "disturbed", "run"
  std::string text;       // e.g. "dram bytes (measured) grew by 12.0 %, from 1.00 MB to 1.12 MB"
};

// Returns the changes, the most likely cause first. Compares FLOPs, bytes and launches of the most
// trusted provenance that both records have; counters may differ by 5 %. The clock is the SM clock
// of a GPU's clean repetitions, otherwise the clock at which the ceilings were measured. Machines
// may be null. Modelled FLOPs are compared only if both runs count them alike (`flops_alike`).
std::vector<Change> FindChanges(const Record& base, const machine::Machine* base_machine,
                                const Record& contender, const machine::Machine* contender_machine,
                                bool flops_alike = true);

// Returns all changes in one line, or "unexplained: ..." if there are none. Includes changes that
// cannot be the cause (e.g. fewer bytes of a slower benchmark).
std::string CausesText(const std::vector<Change>& changes);

}  // namespace dlroof::record
