// Resources that a kernel's launch needs of a GPU, and the waves of blocks that it makes there.
// Pure.
#pragma once

#include <cstdint>
#include <optional>

namespace dlroof {

struct KernelFacts {
  std::int64_t blocks = 0;  // [1] of the launch
  int threads = 0;          // [1] of a block
  int registers = 0;        // [1] of a thread
  double shared_bytes = 0;  // [byte] of a block, static and dynamic

  bool operator==(const KernelFacts&) const = default;
};

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
