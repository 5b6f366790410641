// Waves of blocks that a launch makes on a GPU. Pure.
#pragma once

#include <optional>

#include "counters/work.h"

namespace dlroof {

// Room of a GPU.
struct GpuRoom {
  int capability = 0;              // 10 x major + minor
  int sms = 0;                     // [1]
  double shared_bytes_per_sm = 0;  // [byte]
};

// Returns [1] the launch's blocks over those that the GPU holds at once: above 1 the rest waits,
// and a last wave that is not full leaves SMs idle. Absent: a capability that is not known, or a
// block that does not fit.
std::optional<double> Waves(const KernelFacts& kernel, const GpuRoom& gpu);

}  // namespace dlroof
