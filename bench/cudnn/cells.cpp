#include "bench/cudnn/cells.h"

#include "bench/conv2d/cudnn/call.h"
#include "bench/lstm/cudnn/workload.h"

namespace dlroof {

std::vector<Cell> CudnnCells() {
  return {{"Conv2D", "gpu", "cudnn", cudnn::MakeConv2dCudnn},
          {"LSTM", "gpu", "cudnn", cudnn::MakeLstmCudnn}};
}

}  // namespace dlroof
