// Stands in for every cuDNN file where cuDNN was not found: ceilings and counters need none.
#include "bench/cudnn/library.h"

namespace dlroof::cudnn {

std::string CudnnVersion() { return ""; }

std::string WhyNoCudnn() {
  return "the CUDA module was built without cuDNN 9.8 or newer: install it and build again "
         "(ci/run.sh --gpu does)";
}

}  // namespace dlroof::cudnn
