// The instructions that a core can start in a cycle. Two hardware threads share one core's issue
// slots; a virtual machine may not tell which of its CPUs do, or who runs on the other one.
#pragma once

#include <optional>

namespace dlroof::cpu {

// [1/cycle] independent integer additions that the calling thread starts now, over some 50 us:
// all that its core can start (4 on Intel's and AMD's cores of 2013 to 2023, then 5 or 6) when the
// core is its own, and about half where another hardware thread is busy on it. Additions go by the
// clock of a chain of multiplications (core_clock.h), which such a neighbour does not slow; the
// median of five pairs, so that an interrupt or a change of the clock spoils one. Absent on CPUs
// for which this program has no such loops.
std::optional<double> MeasureIssueRate();

}  // namespace dlroof::cpu
