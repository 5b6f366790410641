// cuDNN itself, for the CUDA module; bench/no_cudnn stands in for it in a module without.
#pragma once

#include <string>

namespace dlroof::cudnn {

// cuDNN's version as it runs ("9.19.0"); empty in a build without it.
std::string CudnnVersion();
// Why cuDNN's benchmarks cannot run, with the cure: it is not in this build, or the one found when
// the program started is not the one it was built for. Empty: they can.
std::string WhyNoCudnn();

}  // namespace dlroof::cudnn
