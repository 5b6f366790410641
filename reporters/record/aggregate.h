// Times of which a file states only aggregates: their interval.
#pragma once

#include <optional>

#include "reporters/record/record.h"

namespace dlroof::record {

// Returns the timing of a record whose only repetition is an aggregate, or nullopt for any other.
// Its interval is Student's, for normally distributed repetitions.
std::optional<Timing> TimingOfAggregate(const std::vector<Repetition>& repetitions);

}  // namespace dlroof::record
