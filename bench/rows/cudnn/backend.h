// The graph of a call on rows, also for a GPU that is not present. Part of the CUDA module only.
#pragma once

#include "bench/cudnn/graph.h"
#include "bench/rows/rows.h"

namespace dlroof::rows {

// Describes a call of any operator but Softmax, which is no graph. Throws Unsupported if cuDNN has
// no such node.
void Describe(const RowsCase& request, cudnn::GraphCall& call);

}  // namespace dlroof::rows
