// Conv2D/cpu/onednn and Conv3D/cpu/onednn: convolutions by oneDNN 3.x. oneDNN chooses the layouts
// that the name does not specify. Tensors are reordered once, before the timing.
#include <fmt/format.h>

#include <span>

#include "bench/conv2d/conv3d.h"
#include "bench/conv2d/loops.h"
#include "bench/onednn/call.h"

namespace dlroof::conv2d {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using onednn::CpuEngine;

struct Shape {
  memory::desc source, weights, destination, bias;  // `bias` is empty for a call without bias
  memory::dims strides, dilations, begin, end;
};

memory::format_tag TagOf(Conv2dLayout layout) {
  if (layout == Conv2dLayout::kNchw) return memory::format_tag::nchw;
  return layout == Conv2dLayout::kNhwc ? memory::format_tag::nhwc : memory::format_tag::any;
}

memory::desc Desc(const memory::dims& dims, std::string_view element,
                  memory::format_tag tag = memory::format_tag::any) {
  return {dims, onednn::DataType(element), tag};
}

memory::desc BiasOf(const workload::ProductCase& conv, int64_t filters) {
  return conv.bias ? Desc({filters}, workload::BiasType(conv.types)) : memory::desc();
}

// Returns a convolution's descriptors. `axes`: the last two axes of `p` for an image, else all.
Shape ShapeOf(const workload::ProductCase& conv, const Conv3dProblem& p,
              std::span<const VolumeAxis> axes, memory::format_tag tag) {
  const auto of_axes = [&](memory::dims first, auto of) {
    for (const auto& axis : axes) first.push_back(of(axis));
    return first;
  };
  const auto filter = [](const VolumeAxis& axis) { return axis.filter; };
  auto weights = of_axes({p.k, p.c / p.groups}, filter);
  if (p.groups > 1) weights = of_axes({p.groups, p.k / p.groups, p.c / p.groups}, filter);
  return {Desc(of_axes({p.n, p.c}, [](const VolumeAxis& axis) { return axis.size; }),
               conv.types.source, tag),
          Desc(weights, conv.types.weights),
          Desc(of_axes({p.n, p.k}, Outputs), conv.types.destination, tag), BiasOf(conv, p.k),
          of_axes({}, [](const VolumeAxis& axis) { return axis.stride; }),
          // oneDNN's dilation 0 is dense
          of_axes({}, [](const VolumeAxis& axis) { return axis.dilation - 1; }),
          of_axes({}, [](const VolumeAxis& axis) { return axis.pad_before; }),
          of_axes({}, [](const VolumeAxis& axis) { return axis.pad_after; })};
}

Shape ShapeOf(const Conv2dCase& conv) {
  const auto p = VolumeOf(conv.problem);
  return ShapeOf(conv, p, std::span(p.axes).last(2), TagOf(conv.layout));
}

Shape ShapeOf(const Conv3dCase& conv) {
  return ShapeOf(conv, conv.problem, conv.problem.axes, memory::format_tag::any);
}

algorithm AlgorithmOf(const Conv2dCase& conv) {
  if (conv.algorithm == Conv2dAlgorithm::kAuto) return algorithm::convolution_auto;
  return conv.algorithm == Conv2dAlgorithm::kWinograd ? algorithm::convolution_winograd
                                                      : algorithm::convolution_direct;
}

algorithm AlgorithmOf(const Conv3dCase& /*conv*/) { return algorithm::convolution_direct; }

template <class Case>
onednn::ProductCall MakeCall(const Case& conv, const workload::ProductInputs& inputs) {
  const auto s = ShapeOf(conv);
  const auto kind = AlgorithmOf(conv);
  const auto scales = workload::ScalesOf(conv);
  const int per_filter = conv.problem.groups > 1 ? 3 : 1;
  const auto attributes = onednn::AttributesOf(conv, scales, per_filter);
  const dnnl::convolution_forward::primitive_desc forward(
      onednn::CpuEngine(), onednn::ForwardKind(conv), kind, s.source, s.weights, s.bias,
      s.destination, s.strides, s.dilations, s.begin, s.end, attributes);
  if (conv.direction == ProductDirection::kForward)
    return onednn::ForwardCall<dnnl::convolution_forward>(forward, conv, scales, inputs);
  if (conv.direction == ProductDirection::kBackwardData)
    return onednn::BackwardDataCall<dnnl::convolution_backward_data>(
        {onednn::CpuEngine(), kind, s.source, s.weights, s.destination, s.strides, s.dilations,
         s.begin, s.end, forward, attributes},
        inputs);
  return onednn::BackwardWeightsCall<dnnl::convolution_backward_weights>(
      {onednn::CpuEngine(), kind, s.source, s.weights, s.bias, s.destination, s.strides,
       s.dilations, s.begin, s.end, forward, attributes},
      conv, inputs);
}

template <class Case>
workload::PreparedCall PrepareCase(const Case& conv, std::string_view op,
                                   const workload::RunSettings& settings) {
  onednn::RequireSupport(conv, SizesOf(conv),
                         "int8 convolutions have no backward pass: oneDNN only has fwd");
  const auto what = fmt::format("{} {}", op, conv.type);
  return onednn::PrepareProduct(conv, settings, what,
                                [conv](const workload::ProductInputs& inputs) {
                                  auto call = MakeCall(conv, inputs);
                                  call.weights = {DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS};
                                  return call;
                                });
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const auto conv = ReadOnednnConv2dCase(name);
  auto prepared = PrepareCase(conv, "conv2d", settings);
  prepared.explain.executed_over_useful =
      ExecutedOverUseful(conv, prepared.algorithm, prepared.isa);
  return prepared;
}

workload::PreparedCall PrepareVolume(const workload::BenchmarkName& name,
                                     const workload::RunSettings& settings) {
  return PrepareCase(ReadOnednnConv3dCase(name), "conv3d", settings);
}

[[maybe_unused]] const bool backends_registered =
    workload::RegisterBackend(
        {.op = "Conv2D", .device = "cpu", .library = "onednn", .prepare = Prepare}) &&
    workload::RegisterBackend(
        {.op = "Conv3D", .device = "cpu", .library = "onednn", .prepare = PrepareVolume});

}  // namespace
}  // namespace dlroof::conv2d
