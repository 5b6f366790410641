// Stands in for every cuDNN file where cuDNN was not found: ceilings and counters need none.
#include "bench/cuda_module/libraries.h"
#include "bench/cudnn/cells.h"

namespace dlroof {

std::vector<Cell> CudnnCells() { return {}; }

std::string CudnnVersion() { return ""; }

std::string WhyNoCudnn() {
  return "the CUDA module was built without cuDNN 9.8 or newer: install it and build again "
         "(ci/run.sh --gpu "
         "does)";
}

}  // namespace dlroof
