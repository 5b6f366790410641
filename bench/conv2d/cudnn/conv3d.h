// The graph of a Conv3D, also for a GPU that is not present. Part of the CUDA module only.
#pragma once

#include "bench/conv2d/conv3d.h"
#include "bench/cudnn/graph.h"

namespace dlroof::conv2d {

// Describes the call: tensors "source", "weights" and "destination" with channels innermost.
void Describe(const Conv3dCase& conv, cudnn::GraphCall& call);

}  // namespace dlroof::conv2d
