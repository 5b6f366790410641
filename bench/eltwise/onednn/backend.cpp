// Eltwise/cpu/onednn: elementwise functions by oneDNN 3.x, from one tensor into another.
#include "bench/eltwise/loops.h"
#include "bench/onednn/rows_call.h"

namespace dlroof::eltwise {
namespace {

onednn::Call MakeCall(const EltwiseCase& eltwise, const rows::Tensors<float>& in) {
  const auto desc = onednn::RowsDesc(eltwise);
  return onednn::RowsCall<dnnl::eltwise_forward>(
      {onednn::CpuEngine(), onednn::ForwardKind(eltwise.training),
       onednn::AlgorithmOf(eltwise.function), desc, desc, 0.0F, 0.0F},
      in);
}

[[maybe_unused]] const bool backend_registered =
    workload::RegisterBackend({.op = "Eltwise",
                               .device = "cpu",
                               .library = "onednn",
                               .prepare = onednn::PrepareRows<ReadOnednnCase, MakeCall>});

}  // namespace
}  // namespace dlroof::eltwise
