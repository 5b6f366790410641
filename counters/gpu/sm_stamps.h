// The clock of a GPU's SMs from stamps that the SMs write. C++17, as CUDA kernels include it.
#pragma once

#include <optional>
#include <vector>

namespace dlroof::gpu {

// An SM's readings of its two clocks at about the same time, or zeros if the SM wrote none.
struct SmStamp {
  unsigned long long nanoseconds = 0;  // [ns] of the GPU's timer, the same for all SMs
  unsigned long long cycles = 0;       // [1] of this SM
};

// [1/s] Mean over the SMs that have both stamps. `stamps` holds the earlier stamp of every SM, then
// the later ones. Returns nullopt if the stamps are too close together.
std::optional<double> MeanClockHz(const std::vector<SmStamp>& stamps);

}  // namespace dlroof::gpu
