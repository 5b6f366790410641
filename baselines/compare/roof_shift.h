// Estimates how much slower the machine was in the second of two runs, from the ceilings that each
// run measured. Pure.
#pragma once

#include <optional>

#include "baselines/statistics/judge.h"
#include "reporters/record/record.h"

namespace dlroof::compare {

// Returns the median shift over the validated ceilings (of pipes and memory levels, all thread
// counts) measured in both runs at different times, with its standard error. Uses each ceiling's
// last measurement. Returns nullopt if there is no such ceiling.
std::optional<statistics::MachineShift> RoofShiftOf(const machine::Machine& base,
                                                    const machine::Machine& contender);

}  // namespace dlroof::compare
