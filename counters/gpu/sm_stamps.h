// The clock of a GPU's SMs, computed from stamps that the SMs read off their two clocks. C++17,
// since CUDA kernels include this header.
#pragma once

#include <optional>
#include <vector>

namespace dlroof::gpu {

// An SM's readings of two clocks at about the same time. Both 0 without a reading of its own.
struct SmStamp {
  unsigned long long nanoseconds = 0;  // [ns] of the GPU's timer, the same for all SMs
  unsigned long long cycles = 0;       // [1] of this SM
};

// [1/s] Mean over the SMs that have both stamps; `stamps` holds the earlier one of every SM, then
// the later ones. Absent where they are too close together to tell.
std::optional<double> MeanClockHz(const std::vector<SmStamp>& stamps);

}  // namespace dlroof::gpu
