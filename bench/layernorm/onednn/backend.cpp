// LayerNorm/cpu/onednn: layer normalization of the last axis by oneDNN 3.x, from one tensor into
// another, both row by row. In training it also writes mean and variance.
#include <fmt/format.h>

#include "bench/layernorm/loops.h"
#include "bench/onednn/call.h"
#include "bench/workload/operator_parts.h"

namespace dlroof::layernorm {
namespace {

onednn::Call MakeCall(const LayerNormCase& norm, const LayerNormTensors<float>& in) {
  const auto desc = onednn::PlainDesc({norm.rows.m, norm.rows.n}, onednn::DataType(norm.type));
  auto flags = dnnl::normalization_flags::none;
  if (norm.scale) flags |= dnnl::normalization_flags::use_scale;
  if (norm.shift) flags |= dnnl::normalization_flags::use_shift;
  const dnnl::layer_normalization_forward::primitive_desc chosen(
      onednn::CpuEngine(), onednn::ForwardKind(norm.training), desc, desc, kEpsilon, flags);
  auto call = onednn::CallOf<dnnl::layer_normalization_forward>(chosen);
  const auto column = onednn::PlainDesc({norm.rows.n}, dnnl::memory::data_type::f32);
  call.AddInput(DNNL_ARG_SRC, desc, in.source);
  call.AddOutput(DNNL_ARG_DST, desc);
  if (norm.scale) call.AddInput(DNNL_ARG_SCALE, column, in.scale);
  if (norm.shift) call.AddInput(DNNL_ARG_SHIFT, column, in.shift);
  if (norm.training) {
    call.AddOutput(DNNL_ARG_MEAN, chosen.mean_desc());
    call.AddOutput(DNNL_ARG_VARIANCE, chosen.variance_desc());
  }
  call.weights = {DNNL_ARG_SCALE, DNNL_ARG_SHIFT};
  return call;
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const auto norm = ReadOnednnCase(name);
  rows::RequireMemory(norm);
  auto prepared = onednn::PrepareCall(
      settings, fmt::format("layer normalization fwd {}", norm.type),
      SeededTensors(norm, settings.seed),
      [&](const onednn::Call&) { return workload::WorkOfLogged(Logged(norm)); },
      [&](const auto& in) { return MakeCall(norm, in); },
      [norm, seed = settings.seed](const auto& in, const onednn::Call& call) {
        return CheckLayerNorm(norm, in, call.Values(DNNL_ARG_DST), seed);
      });
  prepared.levels.reason = Reason{
      fmt::format("the loops of layer normalization by {} are not modelled", prepared.algorithm)};
  return prepared;
}

[[maybe_unused]] const bool backend_registered = workload::RegisterBackend(
    {.op = "LayerNorm", .device = "cpu", .library = "onednn", .prepare = Prepare});

}  // namespace
}  // namespace dlroof::layernorm
