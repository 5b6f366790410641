// cuDNN's version and availability, for the CUDA module; without cuDNN by bench/no_cudnn.
#pragma once

#include <optional>
#include <string>

#include "counters/base/error.h"

namespace dlroof::cudnn {

// Returns the version of the loaded cuDNN ("9.19.0"), or nullopt in a build without cuDNN.
std::optional<std::string> CudnnVersion();
// Returns why cuDNN's benchmarks cannot run, and a remedy: the build lacks cuDNN, or the loaded
// cuDNN has another major version than the build's. nullopt if they can run.
std::optional<Reason> UnavailableReason();

}  // namespace dlroof::cudnn
