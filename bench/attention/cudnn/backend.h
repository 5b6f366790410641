// The cuDNN graph of Attention/gpu/cudnn; can be built without a GPU. Part of the CUDA module.
#pragma once

#include "bench/attention/attention.h"
#include "bench/cudnn/graph.h"

namespace dlroof::attention {

// Adds the operation and its named tensors to `call`. Throws Unsupported for fp8's backward pass.
void Describe(const CudnnAttentionCase& request, cudnn::GraphCall& call);

}  // namespace dlroof::attention
