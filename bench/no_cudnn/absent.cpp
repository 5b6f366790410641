// Implements bench/cudnn/library.h in builds without cuDNN.
#include "bench/cudnn/library.h"

namespace dlroof::cudnn {

std::optional<std::string> CudnnVersion() { return std::nullopt; }

std::optional<Reason> UnavailableReason() {
  return Reason{
      "the CUDA module was built without cuDNN 9.8 or newer: install cuDNN and build again "
      "(ci/run.sh --gpu does)"};
}

}  // namespace dlroof::cudnn
