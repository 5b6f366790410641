// The cuDNN graph of a Conv3D; can be built without a GPU. Part of the CUDA module.
#pragma once

#include "bench/conv2d/conv3d.h"
#include "bench/cudnn/graph.h"

namespace dlroof::conv2d {

// Adds the convolution and its tensors "source", "weights", "destination" (channels innermost).
void Describe(const Conv3dCase& conv, cudnn::GraphCall& call);

}  // namespace dlroof::conv2d
