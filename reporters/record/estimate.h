// The readings on which an estimated time rests (record.h: TimeOf).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reporters/record/record.h"

namespace dlroof::record {

// [s] Returns the fastest repetition as it was measured if the estimate `timing` of these
// repetitions is below it: it then is the CPU time of a call's only thread. Returns nullopt for all
// other times.
std::optional<double> FastestMeasured(const std::vector<Repetition>& repetitions,
                                      const Timing& timing);

// Returns the readings of such an estimate for people, or "" for other times.
std::string EstimateText(const std::vector<Repetition>& repetitions, const Timing& timing);

}  // namespace dlroof::record
