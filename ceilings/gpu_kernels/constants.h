// Constants that GPU kernels share with the loops that check them. C++17, because kernels include
// it.
#pragma once

namespace dlroof::gpu_kernels {

// Vectors of each array that a thread moves per iteration of an unrolled loop.
inline constexpr int kLoadsTogether = 8, kStoresTogether = 4;
inline constexpr int kCopiesTogether = 4, kTriadsTogether = 2;
inline constexpr int kL1VectorsPerThread = 8;           // loads of 16 byte per iteration
inline constexpr int kL1BytesPerBlock = 16384;          // fits every L1 and every shared memory
inline constexpr int kWgmmaTiles = 4;                   // pairs of operand tiles in shared memory
inline constexpr int kWgmmaSteps = 16;                  // per iteration, each on the next tile
inline constexpr int kWgmmaTileBytes = 32;              // [byte] of a row of a tile, along k
inline constexpr float kTriadFactor = 0.5F;             // gives exact products
inline constexpr unsigned kStoredFactor = 0x9e3779b9U;  // pass p stores p times this

}  // namespace dlroof::gpu_kernels
