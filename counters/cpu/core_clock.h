// The clock at which a core really runs, which no file of the system tells in a virtual machine.
#pragma once

#include <optional>

namespace dlroof::cpu {

// [1/s] of the calling thread's core now, within about 0.1 ms: a chain of integer multiplications,
// each of which waits 3 cycles for the one before (on all of Intel's and AMD's cores since 2008 and
// 2017; Fog, Instruction tables). A sibling thread on the core does not slow it. The best of a few
// short chains: an interrupt spoils only one. Absent on CPUs for which this program has no chain.
std::optional<double> MeasureCoreClock();

}  // namespace dlroof::cpu
