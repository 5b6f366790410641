// Do the ceilings of different thread counts agree with each other?
#pragma once

#include "ceilings/machine/machine.h"

namespace dlroof {

// Sets proof.scaling of the ceilings of several threads, rate / (threads x the rate of one), where
// each thread has what it works on to itself: all pipes, and of memory the mixes and roofs of L1
// and L2. Below 0.9 `how` tells it: cores share a power budget, siblings a core, some cores their
// L2. A team that has a core for each thread (`cores` of them may be used) and at the same clock
// still stays below 0.9 is no longer proved: its cores are not its own. May be called again when a
// set was measured anew.
void AddScaling(Machine& machine, int cores);

// What one thread of several reaches, one thread alone reaches too: where a larger team's rate per
// thread lies more than 3 % above a smaller team's, something held the smaller one back (a
// neighbour on the same core, a lower clock), which its own repetitions cannot see. That ceiling is
// no longer proved; the reason names both rates, once however often they are compared.
void CompareThreadCounts(Machine& machine);

}  // namespace dlroof
