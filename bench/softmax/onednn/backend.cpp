// Softmax/cpu/onednn: softmax over the last axis by oneDNN 3.x, from one tensor into another, both
// row by row.
#include "bench/onednn/rows_call.h"
#include "bench/softmax/loops.h"

namespace dlroof::softmax {
namespace {

onednn::Call MakeCall(const SoftmaxCase& softmax, const rows::Tensors<float>& in) {
  const auto desc = onednn::RowsDesc(softmax);
  return onednn::RowsCall<dnnl::softmax_forward>(
      {onednn::CpuEngine(), onednn::ForwardKind(softmax.training),
       dnnl::algorithm::softmax_accurate, desc, desc, 1},
      in);
}

[[maybe_unused]] const bool backend_registered =
    workload::RegisterBackend({.op = "Softmax",
                               .device = "cpu",
                               .library = "onednn",
                               .prepare = onednn::PrepareRows<ReadOnednnCase, MakeCall>});

}  // namespace
}  // namespace dlroof::softmax
