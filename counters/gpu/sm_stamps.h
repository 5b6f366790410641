// The mean clock of a GPU's SMs, from stamps that the SMs write. C++17, as CUDA kernels use it.
#pragma once

#include <optional>
#include <vector>

namespace dlroof::gpu {

// An SM's readings of its two clocks at about the same time. Both are 0 if the SM wrote none.
struct SmStamp {
  unsigned long long nanoseconds = 0;  // [ns] the GPU's timer, common to all SMs
  unsigned long long cycles = 0;       // [1] clock cycles of this SM
};

// Returns the mean clock [1/s] of the SMs that have two stamps. `stamps` contains the earlier stamp
// of every SM, then the later stamp of every SM. Returns nullopt if no two are 200 us apart.
std::optional<double> MeanClockHz(const std::vector<SmStamp>& stamps);

}  // namespace dlroof::gpu
