// The graph of Attention/gpu/cudnn, also for a GPU that is not present. Part of the CUDA module.
#pragma once

#include "bench/attention/attention.h"
#include "bench/cudnn/graph.h"

namespace dlroof::attention {

// Describes the call to cuDNN. Its tensors: q, k, v, o, and where the call has them do, dq, dk, dv,
// statistics, lengths_q and lengths_k (of each sequence), pages (of k and v), the scales of fp8
// (see backend.cpp), and what fp8 also writes, the largest weight and element. Throws Unsupported
// for what the frontend has no node for.
void Describe(const CudnnAttentionCase& request, cudnn::GraphCall& call);

}  // namespace dlroof::attention
