// Kernels whose FLOPs and bytes are known exactly. C++17: the CUDA compiler's.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace dlroof::cuda {

enum class KnownVector { kFp32, kFp64, kFp16x2, kBf16x2 };
enum class KnownTile { kFp16, kBf16, kTf32, kInt8, kFp64 };

// Every one starts its kernel on the default stream and returns its error; none waits.

constexpr int kKnownThreads = 256;  // of each block below

// Each thread: `rounds` (a multiple of 16) fused multiply-adds, nothing else in floating point, on
// its own element (8 byte each) of `elements`, which holds kKnownThreads * blocks of them.
cudaError_t LaunchKnownFma(KnownVector type, void* elements, int blocks, int rounds);

// Each of the blocks' 8 warps: `rounds` products of one tile by mma.sync, whose operations
// KnownTileOperations tells. `operands` is zeros, 4096 byte of them at least. Needs compute
// capability 8.0: on an older GPU nothing is multiplied.
cudaError_t LaunchKnownTiles(KnownTile type, void* operands, int blocks, int rounds);
double KnownTileOperations(KnownTile type);  // [flop] or integer operations of one product

// Reads `bytes` (a multiple of 16) of `from` once and writes them to `to`.
cudaError_t LaunchKnownCopy(const void* from, void* to, size_t bytes, int blocks);

// Each thread loads 16 byte `loads` (a multiple of 8) times past L1, all of `bytes` (a multiple of
// 16, at least as many as one round's loads) in turn.
cudaError_t LaunchKnownL2Loads(const void* from, void* sink, size_t bytes, int blocks, int loads);

// Each warp reads 128 byte of shared memory `loads` times without a conflict, after four stores.
cudaError_t LaunchKnownSharedLoads(void* sink, int blocks, int loads);

}  // namespace dlroof::cuda
