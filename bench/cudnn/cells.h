// cuDNN's benchmarks, for the CUDA module's table.
#pragma once

#include <vector>

#include "bench/workload/workload.h"

namespace dlroof {

// Conv2D and LSTM on device "gpu", library "cudnn".
std::vector<Cell> CudnnCells();

}  // namespace dlroof
