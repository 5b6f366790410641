// The graph of Attention/gpu/cudnn, also for a GPU that is not present. Part of the CUDA module.
#pragma once

#include "bench/attention/attention.h"
#include "bench/cudnn/graph.h"

namespace dlroof::attention {

// Describes the call to cuDNN, with the names of its tensors. Throws Unsupported for fp8's bwd.
void Describe(const CudnnAttentionCase& request, cudnn::GraphCall& call);

}  // namespace dlroof::attention
