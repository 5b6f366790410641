// Version and availability of cuDNN, for the CUDA module. bench/no_cudnn implements this header for
// a module that is built without cuDNN.
#pragma once

#include <optional>
#include <string>

#include "counters/base/error.h"

namespace dlroof::cudnn {

// Returns the version of the loaded cuDNN ("9.19.0"), or nothing in a build without cuDNN.
std::optional<std::string> CudnnVersion();
// Returns why cuDNN's benchmarks cannot run, with a remedy: the build lacks cuDNN, or the loaded
// cuDNN is not of the major version that the module was built for.
std::optional<Reason> UnavailableReason();

}  // namespace dlroof::cudnn
