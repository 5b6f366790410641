// Kernels whose FLOPs and bytes are known exactly. C++17, as nvcc compiles it. Each function
// launches its kernel on the default stream without waiting and returns the launch's error.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace dlroof::cuda {

enum class KnownVector { kFp32, kFp64, kFp16x2, kBf16x2 };
enum class KnownTile { kFp16, kBf16, kTf32, kInt8, kFp64 };

constexpr int kKnownThreads = 256;  // per block

// Each thread executes `rounds` (a multiple of 16) fused multiply-adds and no other floating-point
// operation, on its own element (8 byte) of `elements`, which has kKnownThreads * blocks elements.
cudaError_t LaunchKnownFma(KnownVector type, void* elements, int blocks, int rounds);

// Each of a block's 8 warps executes `rounds` tile products with mma.sync, each of
// KnownTileOperations. `operands` must be at least 4096 byte of zeros. Older GPUs than compute
// capability 8.0 compute nothing.
cudaError_t LaunchKnownTiles(KnownTile type, void* operands, int blocks, int rounds);
double KnownTileOperations(KnownTile type);  // [flop] or integer operations of one product

// Reads `bytes` (a multiple of 16) of `from` once and writes them to `to`.
cudaError_t LaunchKnownCopy(const void* from, void* to, size_t bytes, int blocks);

// Each thread makes `loads` (a multiple of 8) loads of 16 byte that bypass L1; together the threads
// walk through `bytes` (a multiple of 16, at least one load per thread) again and again.
cudaError_t LaunchKnownL2Loads(const void* from, void* sink, size_t bytes, int blocks, int loads);

// Each warp reads 128 byte of shared memory `loads` times without bank conflicts, after four
// stores.
cudaError_t LaunchKnownSharedLoads(void* sink, int blocks, int loads);

}  // namespace dlroof::cuda
