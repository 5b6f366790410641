// The readings on which an estimated time rests (record.h: TimeOf).
#pragma once

#include <optional>
#include <string>
#include <string_view>
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

// What the mark of an estimated time means.
inline constexpr std::string_view kEstimateMeaning =
    "~ noisy: an estimate, the fastest measured unless a line says otherwise";

// Returns for people why repetitions of these records are noisy, the most frequent reason first,
// each with its remedy and its share of them; "" if no reason is known.
std::string NoiseText(const std::vector<Record>& records);

}  // namespace dlroof::record
