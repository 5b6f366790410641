// The cuDNN graph of a call on rows; can be built without a GPU. Part of the CUDA module.
#pragma once

#include "bench/cudnn/graph.h"
#include "bench/rows/rows.h"

namespace dlroof::rows {

// Adds the operation and its tensors to `call`. Not for Softmax, which has no graph. Throws
// Unsupported for a normalization that cuDNN lacks (without scale or shift).
void Describe(const RowsCase& request, cudnn::GraphCall& call);

}  // namespace dlroof::rows
