// Constants that GPU kernels share with the loops that check them. C++17: kernels include it.
#pragma once

namespace dlroof::gpu_kernels {

// Vectors of each array that a thread moves in an iteration of an unrolled loop.
inline constexpr int kLoadsTogether = 8, kStoresTogether = 4;
inline constexpr int kCopiesTogether = 4, kTriadsTogether = 2;
inline constexpr int kL1VectorsPerThread = 8;           // loads of 16 byte in an iteration
inline constexpr int kL1BytesPerBlock = 16384;          // fits every L1 and every shared memory
inline constexpr int kWgmmaTiles = 4;                   // pairs of operand tiles in shared memory
inline constexpr int kWgmmaSteps = 16;                  // in an iteration, from tile to tile
inline constexpr int kWgmmaTileBytes = 32;              // of k in a tile
inline constexpr float kTriadFactor = 0.5F;             // exact products
inline constexpr unsigned kStoredFactor = 0x9e3779b9U;  // pass p stores p times this

}  // namespace dlroof::gpu_kernels
