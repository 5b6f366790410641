// The GPUs as the CUDA runtime describes them. Part of the CUDA module only.
#pragma once

#include <optional>
#include <string>

#include "counters/gpu/access.h"
#include "counters/gpu/identity.h"

namespace dlroof::cuda {

gpu::CudaState ReadCudaState();

// All of these throw std::runtime_error with CUDA's words.
gpu::GpuIdentity ReadGpuIdentity(int device);
// [1/s] that the SMs run at by default; absent where CUDA does not say.
std::optional<double> DefaultClockHz(int device);
// "0000:3B:00.0", by which NVML knows it.
std::string PciBusId(int device);

}  // namespace dlroof::cuda
