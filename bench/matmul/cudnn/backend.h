// The cuDNN graph of GroupedMatmul/gpu/cudnn; can be built without a GPU. Part of the CUDA module.
#pragma once

#include "bench/cudnn/graph.h"
#include "bench/matmul/grouped.h"

namespace dlroof::matmul {

// Adds the fused product of all experts (cuDNN 9.15 or newer) and its named tensors to `call`.
void Describe(const GroupedCase& request, cudnn::GraphCall& call);

}  // namespace dlroof::matmul
