// Softmax, LayerNorm, RmsNorm, Eltwise and SwiGlu on cpu/onednn by oneDNN 3.x: over the last axis,
// out of place, row-major. In training LayerNorm also writes mean and variance, RmsNorm variance.
#include <fmt/format.h>

#include "bench/onednn/call.h"
#include "bench/rows/rows.h"

namespace dlroof::rows {
namespace {

dnnl::memory::desc Desc(const RowsCase& request) {
  return onednn::PlainDesc({request.rows.m, request.rows.n}, onednn::DataType(request.type));
}

template <class Primitive>
onednn::Call RowsCall(const typename Primitive::primitive_desc& chosen, const Tensors<float>& in) {
  auto call = onednn::CallOf<Primitive>(chosen);
  call.AddInput(DNNL_ARG_SRC, chosen.src_desc(), in.source);
  call.AddOutput(DNNL_ARG_DST, chosen.dst_desc());
  return call;
}

onednn::Call SoftmaxCall(const RowsCase& softmax, const Tensors<float>& in) {
  return RowsCall<dnnl::softmax_forward>(
      {onednn::CpuEngine(), onednn::ForwardKind(softmax.training),
       dnnl::algorithm::softmax_accurate, Desc(softmax), Desc(softmax), 1},
      in);
}

onednn::Call EltwiseCall(const RowsCase& eltwise, const Tensors<float>& in) {
  return RowsCall<dnnl::eltwise_forward>(
      {onednn::CpuEngine(), onednn::ForwardKind(eltwise.training),
       onednn::AlgorithmOf(eltwise.function), Desc(eltwise), Desc(eltwise), 0.0F, 0.0F},
      in);
}

// Returns a call of swish, with the multiplication by the second tensor fused as a post-op.
onednn::Call SwiGluCall(const RowsCase& gated, const Tensors<float>& in) {
  dnnl::post_ops product;
  product.append_binary(dnnl::algorithm::binary_mul, Desc(gated));
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(product);
  auto call = RowsCall<dnnl::eltwise_forward>(
      {onednn::CpuEngine(), onednn::ForwardKind(gated.training), dnnl::algorithm::eltwise_swish,
       Desc(gated), Desc(gated), 1.0F, 0.0F, attributes},
      in);
  call.AddInput(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, Desc(gated),
                in.parameters[kUp]);
  return call;
}

dnnl::memory::desc ColumnDesc(const RowsCase& norm) {
  return onednn::PlainDesc({norm.rows.n}, dnnl::memory::data_type::f32);
}

// Returns the primitive's flags. kRms is dnnl_rms_norm of include/oneapi/dnnl/dnnl_types.h, which
// headers before oneDNN 3.9 lack. Throws Unsupported for RmsNorm if the loaded library is older.
// oneDNN 3.13 computes the gradient of layer normalization for RmsNorm, which fails verification.
dnnl::normalization_flags FlagsOf(const RowsCase& norm) {
  constexpr unsigned kRms = 0x20;
  constexpr int kFirstMinor = 9;
  auto flags = dnnl::normalization_flags::none;
  if (norm.scale) flags |= dnnl::normalization_flags::use_scale;
  if (norm.shift) flags |= dnnl::normalization_flags::use_shift;
  if (norm.op != &kRmsNorm) return flags;
  if (dnnl_version()->minor < kFirstMinor)
    throw Unsupported(
        "oneDNN {} has no RMS normalization, only 3.9 and newer: choose one by --dlroof_onednn",
        onednn::Version());
  return flags | static_cast<dnnl::normalization_flags>(kRms);
}

onednn::Call LayerNormBackwardCall(const RowsCase& norm, dnnl::normalization_flags flags,
                                   const dnnl::layer_normalization_forward::primitive_desc& hint,
                                   const Tensors<float>& in) {
  const dnnl::layer_normalization_backward::primitive_desc chosen(
      onednn::CpuEngine(), dnnl::prop_kind::backward, Desc(norm), Desc(norm), Desc(norm),
      kLayerNormEpsilon, flags, hint);
  auto call = onednn::CallOf<dnnl::layer_normalization_backward>(chosen);
  call.AddInput(DNNL_ARG_SRC, chosen.src_desc(), in.source);
  call.AddInput(DNNL_ARG_DIFF_DST, chosen.diff_dst_desc(), in.parameters[kGradient]);
  if (norm.op != &kRmsNorm) call.AddInput(DNNL_ARG_MEAN, chosen.mean_desc(), in.parameters[kMean]);
  call.AddInput(DNNL_ARG_VARIANCE, chosen.variance_desc(), in.parameters[kVariance]);
  call.AddOutput(DNNL_ARG_DIFF_SRC, chosen.diff_src_desc());
  if (norm.scale) {
    call.AddInput(DNNL_ARG_SCALE, ColumnDesc(norm), in.parameters[kScale]);
    call.AddOutput(DNNL_ARG_DIFF_SCALE, ColumnDesc(norm));
  }
  if (norm.shift) {
    call.AddInput(DNNL_ARG_SHIFT, ColumnDesc(norm), in.parameters[kShift]);  // required, not read
    call.AddOutput(DNNL_ARG_DIFF_SHIFT, ColumnDesc(norm));
  }
  call.weights = {DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_DIFF_SCALE, DNNL_ARG_DIFF_SHIFT};
  return call;
}

// Returns the result in the order of ResultSize.
std::vector<float> ResultOf(const RowsCase& request, const onednn::Call& call) {
  if (!request.backward) return call.Values(DNNL_ARG_DST);
  auto result = call.Values(DNNL_ARG_DIFF_SRC);
  for (const auto& [used, argument] :
       {std::pair(request.scale, DNNL_ARG_DIFF_SCALE), {request.shift, DNNL_ARG_DIFF_SHIFT}}) {
    const auto values =
        used ? call.Values(argument) : std::vector<float>(static_cast<size_t>(request.rows.n));
    result.insert(result.end(), values.begin(), values.end());
  }
  return result;
}

onednn::Call LayerNormCall(const RowsCase& norm, const Tensors<float>& in) {
  const auto flags = FlagsOf(norm);
  const dnnl::layer_normalization_forward::primitive_desc chosen(
      onednn::CpuEngine(), onednn::ForwardKind(norm.training || norm.backward), Desc(norm),
      Desc(norm), kLayerNormEpsilon, flags);
  if (norm.backward) return LayerNormBackwardCall(norm, flags, chosen, in);
  auto call = RowsCall<dnnl::layer_normalization_forward>(chosen, in);
  if (norm.scale) call.AddInput(DNNL_ARG_SCALE, ColumnDesc(norm), in.parameters[kScale]);
  if (norm.shift) call.AddInput(DNNL_ARG_SHIFT, ColumnDesc(norm), in.parameters[kShift]);
  if (norm.training) {
    if (norm.op != &kRmsNorm) call.AddOutput(DNNL_ARG_MEAN, chosen.mean_desc());
    call.AddOutput(DNNL_ARG_VARIANCE, chosen.variance_desc());
  }
  call.weights = {DNNL_ARG_SCALE, DNNL_ARG_SHIFT};
  return call;
}

template <auto kMakeCall>
bool RegisterOnednn(const std::string& name_of_op, const RowsOperator& op) {
  const auto prepare = [&op](const workload::BenchmarkName& name,
                             const workload::RunSettings& settings) {
    const auto request = ReadOnednnCase(op, name);
    RequireMemory(request);
    return onednn::PrepareCall(
        settings, fmt::format("{} {} {}", name.op, name.direction, name.type),
        [request](unsigned seed) { return request.op->inputs(request, seed); },
        [&](const onednn::Call&) { return WorkOf(request); },
        [request](const Tensors<float>& in) { return kMakeCall(request, in); },
        [request, seed = settings.seed](const Tensors<float>& in, const onednn::Call& call) {
          return Check(request, in, ResultOf(request, call), seed);
        });
  };
  return workload::RegisterBackend(
      {.op = name_of_op, .device = "cpu", .library = "onednn", .prepare = prepare});
}

// Names are literals, because kSoftmax etc., in other files, may be initialized after this object.
[[maybe_unused]] const bool backends_registered =
    RegisterOnednn<SoftmaxCall>("Softmax", kSoftmax) &&
    RegisterOnednn<EltwiseCall>("Eltwise", kEltwise) &&
    RegisterOnednn<SwiGluCall>("SwiGlu", kSwiGlu) &&
    RegisterOnednn<LayerNormCall>("LayerNorm", kLayerNorm) &&
    RegisterOnednn<LayerNormCall>("RmsNorm", kRmsNorm);

}  // namespace
}  // namespace dlroof::rows
