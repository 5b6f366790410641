// Kernels with which a GPU's clock is read and its L2 emptied. Part of the CUDA module only; C++17.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace dlroof {

// What an SM read off its two clocks at about the same time; both 0 where none of its own was read.
struct SmStamp {
  unsigned long long nanoseconds = 0;  // [ns] of the GPU's timer, the same for all SMs
  unsigned long long cycles = 0;       // [1] of this SM
};

// Every SM that gets a block writes stamps[its number], if that is below `count`.
cudaError_t LaunchStamps(SmStamp* stamps, int count, int blocks, cudaStream_t stream);

// Reads all of [begin, begin + bytes) through L2 but for what does not fill 16 bytes; `sink` is not
// written in practice, but the compiler cannot know.
cudaError_t LaunchRead(const void* begin, std::size_t bytes, unsigned* sink, int blocks,
                       cudaStream_t stream);

}  // namespace dlroof
