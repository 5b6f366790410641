// The knee between bandwidth and arithmetic: the intensities to measure, and their comparison with
// the roofs. Pure.
#pragma once

#include <span>
#include <vector>

#include "ceilings/cpu_kernels/bytes.h"
#include "ceilings/machine/machine.h"

namespace dlroof {

// The pipe that the ridge kernels' multiply-adds run on.
inline constexpr const char* kRidgePipe = "fp32.vector";

// Returns up to eight neighbours of `rows` (by rising intensity) around `knee` [flop/byte].
std::vector<RidgeRow> RidgeRowsAround(std::span<const RidgeRow> rows, double knee);

// Doubts a roof that a ridge's point exceeds by more than 3 %, since no kernel is faster than both
// of its roofs. The roofs are the compute roof, and the intensity times the level's bandwidth. The
// reason names the point. Compute roofs are the plain pipe and the finer row of the same rate.
void CompareRidges(CeilingSet& set);

}  // namespace dlroof
