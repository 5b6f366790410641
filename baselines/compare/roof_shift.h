// How much slower a machine was in the second of two runs, by the ceilings that each run measured.
// Pure.
#pragma once

#include <optional>

#include "baselines/statistics/judge.h"
#include "reporters/record/record.h"

namespace dlroof::compare {

// Returns the median over the validated ceilings (pipes and memory levels, of all thread counts)
// that were measured in both runs at different times, by their last visits (live checks are
// visits), with the standard error that their scatter shows; nothing if there is none.
std::optional<statistics::MachineShift> RoofShiftOf(const machine::Machine& base,
                                                    const machine::Machine& contender);

}  // namespace dlroof::compare
