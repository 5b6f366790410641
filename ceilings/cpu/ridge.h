// The knee between bandwidth and arithmetic: which intensities to measure, and whether what was
// measured fits the roofs. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ceilings/cpu_kernels/bytes.h"
#include "ceilings/machine/machine.h"

namespace dlroof {

// The pipe that the ridge kernels' multiply-adds run on.
inline constexpr const char* kRidgePipe = "fp32.vector";

// Up to eight neighbouring rows of `rows` (by rising intensity) around `knee` [flop/byte].
std::vector<RidgeRow> RidgeRowsAround(std::span<const RidgeRow> rows, double knee);

// No kernel is faster than both of its roofs: where a point of a ridge lies above the compute roof
// or above its intensity times the level's bandwidth by more than 3 %, that roof is too low and no
// longer proved; the reason names the point. Compute roofs: the plain pipe, and the finer row that
// it was taken from (the same rate). A level or a pipe that is absent is not judged.
void CompareRidges(CeilingSet& set);

}  // namespace dlroof
