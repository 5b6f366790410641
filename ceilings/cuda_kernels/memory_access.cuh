// Loads and stores of 16 byte in PTX, for their cache operators. `volatile` prevents the compiler
// from dropping them, merging them, or reusing their values in the next pass.
#pragma once

#include <cuda_runtime_api.h>

namespace dlroof::cuda_kernels {

#define DLROOF_LOAD(Name, Address, in, space)                  \
  __device__ inline uint4 Name(Address from) {                 \
    uint4 v;                                                   \
    asm volatile("ld." space ".v4.u32 {%0, %1, %2, %3}, [%4];" \
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)  \
                 : in(from));                                  \
    return v;                                                  \
  }
DLROOF_LOAD(LoadPastL1, const uint4*, "l", "global.L1::no_allocate")
DLROOF_LOAD(LoadFromL2, const uint4*, "l", "global.cg")
DLROOF_LOAD(LoadThroughL1, const uint4*, "l", "global.ca")
DLROOF_LOAD(LoadShared, unsigned, "r", "shared")
#undef DLROOF_LOAD

__device__ inline void StoreVector(uint4* to, uint4 v) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z),
               "r"(v.w)
               : "memory");
}

}  // namespace dlroof::cuda_kernels
