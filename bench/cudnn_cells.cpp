#include "bench/cudnn_cells.h"

#include "bench/conv2d_cudnn.h"
#include "bench/lstm_cudnn.h"

namespace dlroof {

std::vector<Cell> CudnnCells() {
  return {{"Conv2D", "gpu", "cudnn", cudnn::MakeConv2dCudnn},
          {"LSTM", "gpu", "cudnn", cudnn::MakeLstmCudnn}};
}

}  // namespace dlroof
