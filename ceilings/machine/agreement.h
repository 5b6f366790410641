// Compares the ceilings of different thread counts with each other.
#pragma once

#include "ceilings/machine/machine.h"

namespace dlroof::machine {

// Sets proof.scaling, rate / (threads x the rate of one thread), of all pipes and of the mixes and
// roofs of L1 and L2: there each thread has its own data. Below 0.9 cores share a power budget,
// siblings a core, or cores their L2. A team that has a core for each thread (it may use `cores`)
// and stays below 0.9 at the same clock is no longer proved. Its cores are not its own. Call it
// again when a set was measured anew.
void AddScaling(Machine& machine, int cores);

// Doubts a smaller team whose rate per thread is more than 3 % below a larger team's. A neighbour
// on the same core or a lower clock held it back, and its own repetitions cannot see that. The
// reason names both rates. Repeated calls add it once.
void CompareThreadCounts(Machine& machine);

}  // namespace dlroof::machine
