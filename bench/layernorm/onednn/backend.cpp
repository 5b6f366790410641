// LayerNorm/cpu/onednn: layer normalization of the last axis by oneDNN 3.x, from one tensor into
// another, both row by row. In training it also writes mean and variance.
#include "bench/layernorm/loops.h"
#include "bench/onednn/rows_call.h"

namespace dlroof::layernorm {
namespace {

onednn::Call MakeCall(const LayerNormCase& norm, const rows::Tensors<float>& in) {
  const auto desc = onednn::RowsDesc(norm);
  auto flags = dnnl::normalization_flags::none;
  if (norm.scale) flags |= dnnl::normalization_flags::use_scale;
  if (norm.shift) flags |= dnnl::normalization_flags::use_shift;
  const dnnl::layer_normalization_forward::primitive_desc chosen(
      onednn::CpuEngine(), onednn::ForwardKind(norm.training), desc, desc, kEpsilon, flags);
  auto call = onednn::RowsCall<dnnl::layer_normalization_forward>(chosen, in);
  const auto column = onednn::PlainDesc({norm.rows.n}, dnnl::memory::data_type::f32);
  if (norm.scale) call.AddInput(DNNL_ARG_SCALE, column, in.parameters[kScale]);
  if (norm.shift) call.AddInput(DNNL_ARG_SHIFT, column, in.parameters[kShift]);
  if (norm.training) {
    call.AddOutput(DNNL_ARG_MEAN, chosen.mean_desc());
    call.AddOutput(DNNL_ARG_VARIANCE, chosen.variance_desc());
  }
  call.weights = {DNNL_ARG_SCALE, DNNL_ARG_SHIFT};
  return call;
}

[[maybe_unused]] const bool backend_registered =
    workload::RegisterBackend({.op = "LayerNorm",
                               .device = "cpu",
                               .library = "onednn",
                               .prepare = onednn::PrepareRows<ReadOnednnCase, MakeCall>});

}  // namespace
}  // namespace dlroof::layernorm
