// Why no GPU can be used, as a sentence with its cure. Pure: the CUDA runtime's answers in, text
// out.
#pragma once

#include <string>
#include <vector>

namespace dlroof::gpu {

struct SeenGpu {
  std::string name;
  int major = 0, minor = 0;  // compute capability
};

// The CUDA runtime's answer to a question for devices.
struct CudaState {
  int error = 0;              // cudaError_t of cudaGetDeviceCount
  std::string error_name;     // "cudaErrorNoDevice"
  std::string error_text;     // CUDA's own words
  int driver_version = 0;     // [1000 major + 10 minor] CUDA of the driver; 0: none is loaded
  int runtime_version = 0;    // [the same] CUDA of this build
  std::vector<SeenGpu> gpus;  // by CUDA's number
  int least_major = 7, least_minor = 5;  // the oldest GPU that this build has kernels for
};

// "13.0" of 13000.
std::string CudaVersionText(int version);

// Returns whether this build has kernels for it.
bool IsUsable(const SeenGpu& gpu, const CudaState& state);

// Empty: at least one GPU can be used.
std::string WhyNoDevice(const CudaState& state);

}  // namespace dlroof::gpu
