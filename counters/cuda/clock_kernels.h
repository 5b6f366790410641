// Kernels that read a GPU's clocks, block a stream and flush L2. CUDA module only; C++17.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "counters/gpu/sm_stamps.h"

namespace dlroof::cuda {

// Each SM that executes a block writes its clocks to stamps[SM number], if that is below `count`.
cudaError_t LaunchStamps(gpu::SmStamp* stamps, int count, int blocks, cudaStream_t stream);

// Blocks the stream until `*released` is not 0, but at most for `most_nanoseconds`. Sets `*gave_up`
// to 1 after this timeout, otherwise to 0. Both pointers must be to mapped host memory.
cudaError_t LaunchHold(const volatile int* released, int* gave_up,
                       unsigned long long most_nanoseconds, cudaStream_t stream);

// Launches a kernel of one warp that does nothing.
cudaError_t LaunchEmpty(cudaStream_t stream);

// Reads all complete, aligned 16-byte words of [begin, begin + bytes) through L2. The parameter
// `sink` only keeps the compiler from removing the loads; it is not written in practice.
cudaError_t LaunchRead(const void* begin, std::size_t bytes, unsigned* sink, int blocks,
                       cudaStream_t stream);

}  // namespace dlroof::cuda
