// The rate at which the calling thread's core starts instructions at most.
#pragma once

#include <optional>

namespace dlroof::instructions {

// [1/s] independent additions, and two of these beside each load from the first-level cache: the
// faster of the two mixes, the fastest of many tries, in 0.03 s. The core's clock of
// this moment is in it. Cores that fuse pairs of instructions (compare and branch) start more of
// such. Absent on CPUs for which this program has no such loops.
std::optional<double> MeasureInstructionRate();

}  // namespace dlroof::instructions
