// Whether the time of a repetition is one without interference. Pure.
#pragma once

#include "reporters/record/record.h"

namespace dlroof::record {

// Returns whether the repetition is clean, or noisy only because some of its calls were: then its
// time is that of the clean calls.
bool HasCleanTime(const Repetition& repetition);

}  // namespace dlroof::record
