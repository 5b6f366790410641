// Do the ceilings of different thread counts agree with each other?
#pragma once

#include "ceilings/machine.h"

namespace dlroof {

// What one thread of several reaches, one thread alone reaches too: where a larger team's rate per
// thread lies more than 3 % above a smaller team's, something held the smaller one back (a
// neighbour on the same core, a lower clock), which its own repetitions cannot see. That ceiling is
// no longer proved; the reason names both rates, once however often they are compared.
void CompareThreadCounts(Machine& machine);

}  // namespace dlroof
