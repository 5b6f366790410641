// The GPU's kernels, compiled for the CPU: the table of a module that has them, right or broken.
#pragma once

#include <cstddef>

#include "counters/gpu/sm_stamps.h"

namespace dlroof::fakes {

struct LaunchOnCpu {
  int blocks = 0, threads = 0;
  long long iterations = 0;
  const void* operands = nullptr;
  void* results = nullptr;
  std::size_t set_bytes = 0;
};

struct KernelsOnCpu {
  // Runs the kernel of a row of GpuRows; false: it has none.
  bool (*run)(const char* key, const LaunchOnCpu& launch);
  void (*stamps)(gpu::SmStamp* stamps, int count, int blocks, int sms);
  // Returns the time [ns] that the stream is held.
  unsigned long long (*hold)(int released, unsigned long long most_nanoseconds, int* gave_up);
  // Adds 1 to the vector's count, from the first whole one on, with every read.
  void (*read)(const void* begin, std::size_t bytes, int blocks, unsigned char* counts);
};

}  // namespace dlroof::fakes

extern "C" dlroof::fakes::KernelsOnCpu GpuKernelsOnCpu();
