#include "bench/cudnn_cells.h"

namespace dlroof {

std::vector<Cell> CudnnCells() { return {}; }

}  // namespace dlroof
