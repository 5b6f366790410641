// Kernels with exactly known FLOPs and bytes, to validate hardware counters. C++17, for nvcc. Each
// function launches its kernel on the default stream without waiting and returns the error.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace dlroof::cuda {

enum class KnownVector { kFp32, kFp64, kFp16x2, kBf16x2 };
enum class KnownTile { kFp16, kBf16, kTf32, kInt8, kFp64 };

constexpr int kKnownThreads = 256;  // per block

// Each thread executes `rounds` (a multiple of 16) fused multiply-adds on its own element and no
// other floating-point operation. `elements` has kKnownThreads * blocks elements of 8 byte.
cudaError_t LaunchKnownFma(KnownVector type, void* elements, int blocks, int rounds);

// Each of a block's 8 warps executes `rounds` mma.sync instructions of KnownTileOperations each.
// `operands` must contain 4096 byte of zeros. GPUs before compute capability 8.0 compute nothing.
cudaError_t LaunchKnownTiles(KnownTile type, void* operands, int blocks, int rounds);
double KnownTileOperations(KnownTile type);  // [flop] or integer operations of one mma.sync

// Copies `bytes` (a multiple of 16) from `from` to `to`; reads and writes each byte once.
cudaError_t LaunchKnownCopy(const void* from, void* to, size_t bytes, int blocks);

// Each thread executes `loads` (a multiple of 8) loads of 16 byte that bypass L1. All threads
// together read the memory at `from` repeatedly; `bytes` is a multiple of 16, at least 16 a thread.
cudaError_t LaunchKnownL2Loads(const void* from, void* sink, size_t bytes, int blocks, int loads);

// Each warp stores 128 byte to shared memory four times, then loads 128 byte `loads` times, without
// bank conflicts.
cudaError_t LaunchKnownSharedLoads(void* sink, int blocks, int loads);

}  // namespace dlroof::cuda
