// Constants shared by the GPU kernels and the host loops that check their results. C++17.
#pragma once

namespace dlroof::gpu_ceilings {

// 16-byte vectors of each array that a thread moves per iteration of an unrolled loop.
inline constexpr int kLoadsTogether = 8, kStoresTogether = 4;
inline constexpr int kCopiesTogether = 4, kTriadsTogether = 2;
inline constexpr int kL1VectorsPerThread = 8;   // 16-byte loads of a thread per iteration
inline constexpr int kL1BytesPerBlock = 16384;  // [byte] fits every GPU's L1
inline constexpr int kWgmmaTiles = 4;           // pairs of A and B tiles in shared memory
inline constexpr int kWgmmaSteps = 16;          // instructions per iteration, each on the next pair
inline constexpr int kWgmmaTileBytes = 32;      // [byte] of one row of a tile along k
inline constexpr float kTriadFactor = 0.5F;     // a power of two, for exact products
inline constexpr unsigned kStoredFactor = 0x9e3779b9U;  // pass p, from 1, stores p * kStoredFactor

}  // namespace dlroof::gpu_ceilings
