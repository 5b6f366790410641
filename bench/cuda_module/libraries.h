// The libraries that the CUDA module stands on. Part of the module only.
#pragma once

#include <vector>

#include "bench/workload/workload.h"

namespace dlroof {

// Versions, for run files and the doctor: the CUDA runtime and driver, cuBLASLt, CUPTI, cuDNN.
std::vector<Library> CudaLibraries();

// libnvrtc, which cuDNN uses, opens its own second half by a bare name, which no search path leads
// to where CUDA comes from Python's wheels: opened here by its path, it is found. Does nothing
// where there is none.
void PreloadNvrtcParts();

}  // namespace dlroof
