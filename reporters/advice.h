// What a placement means in words: findings about one record, and one sentence of advice tied to
// its numbers.
#pragma once

#include "reporters/roofline.h"

namespace dlroof {

// Adds remarks (a point above its roof and which of the two is wrong; the library's own reference
// implementation) and the advice sentence. Silent where the evidence is too weak.
void AddFindings(const Record& record, const Timing& timing, Placement& placement);

}  // namespace dlroof
