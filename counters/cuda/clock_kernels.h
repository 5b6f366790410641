// Kernels that read a GPU's clocks, hold a stream and flush L2. Part of the CUDA module only;
// C++17.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "counters/gpu/sm_stamps.h"

namespace dlroof::cuda {

// Every SM that receives a block writes stamps[SM number] if the number is below `count`.
cudaError_t LaunchStamps(gpu::SmStamp* stamps, int count, int blocks, cudaStream_t stream);

// Blocks the stream until `released` is not 0, or for `most_nanoseconds`. Sets `gave_up` to 1 after
// that timeout and to 0 otherwise. Both are mapped host memory.
cudaError_t LaunchHold(const volatile int* released, int* gave_up,
                       unsigned long long most_nanoseconds, cudaStream_t stream);

// Reads all complete, aligned 16-byte words of [begin, begin + bytes) through L2. In practice the
// kernel never writes `sink`, which keeps the compiler from removing the loads.
cudaError_t LaunchRead(const void* begin, std::size_t bytes, unsigned* sink, int blocks,
                       cudaStream_t stream);

}  // namespace dlroof::cuda
