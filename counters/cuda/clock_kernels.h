// Kernels with which a GPU's clock is read and its L2 emptied. Part of the CUDA module only; C++17.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "counters/gpu/sm_stamps.h"

namespace dlroof::cuda {

// Every SM that gets a block writes stamps[its number], if that is below `count`.
cudaError_t LaunchStamps(gpu::SmStamp* stamps, int count, int blocks, cudaStream_t stream);

// Keeps the stream's later work waiting until `released`, memory of the host that the GPU sees, is
// not 0, and no longer than `most_nanoseconds`; then sets `gave_up`, such memory too, to 1, else 0.
cudaError_t LaunchHold(const volatile int* released, int* gave_up,
                       unsigned long long most_nanoseconds, cudaStream_t stream);

// Reads all of [begin, begin + bytes) through L2 but for what does not fill 16 bytes; `sink` is not
// written in practice, but the compiler cannot know.
cudaError_t LaunchRead(const void* begin, std::size_t bytes, unsigned* sink, int blocks,
                       cudaStream_t stream);

}  // namespace dlroof::cuda
