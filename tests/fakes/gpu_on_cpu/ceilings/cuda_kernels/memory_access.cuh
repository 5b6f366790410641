// Loads and stores on the CPU, in place of ceilings/cuda_kernels/memory_access.cuh.
#pragma once

#include <cuda_runtime_api.h>

namespace dlroof::cuda_kernels {

inline uint4 LoadPastL1(const uint4* from) { return *from; }
inline uint4 LoadFromL2(const uint4* from) { return *from; }
inline uint4 LoadThroughL1(const uint4* from) { return *from; }
inline uint4 LoadShared(unsigned from) {
  return *reinterpret_cast<const uint4*>(shared_memory + from);
}
inline void StoreVector(uint4* to, uint4 v) { *to = v; }

}  // namespace dlroof::cuda_kernels
