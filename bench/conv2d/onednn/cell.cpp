// Conv2D/cpu/onednn: convolution through oneDNN 3.x. Layouts are the library's own choice (`any`)
// unless the name says otherwise; reorders happen once, outside the timing.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "bench/conv2d/check.h"
#include "bench/conv2d/onednn_levels.h"
#include "bench/onednn/support.h"
#include "bench/workload/device_elements.h"
#include "bench/workload/host_memory.h"

namespace dlroof {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

// What oneDNN wants to know about a problem.
struct Shape {
  memory::desc source, weights, destination, bias;  // without bias an empty one
  memory::dims strides, dilations, begin, end;
};

memory::format_tag TagOf(Conv2dLayout layout) {
  if (layout == Conv2dLayout::kNchw) return memory::format_tag::nchw;
  return layout == Conv2dLayout::kNhwc ? memory::format_tag::nhwc : memory::format_tag::any;
}

Shape ShapeOf(const Conv2dCase& conv) {
  const auto& p = conv.problem;
  const auto desc = [](const memory::dims& dims, std::string_view element,
                       memory::format_tag tag = memory::format_tag::any) {
    return memory::desc(dims, onednn::DataType(element), tag);
  };
  memory::dims weights = {p.k, p.c / p.groups, p.r, p.s};
  if (p.groups > 1) weights = {p.groups, p.k / p.groups, p.c / p.groups, p.r, p.s};
  const auto tag = TagOf(conv.layout);
  return {desc({p.n, p.c, p.h, p.w}, conv.types.source, tag),
          desc(weights, conv.types.weights),
          desc({p.n, p.k, OutputHeight(p), OutputWidth(p)}, conv.types.destination, tag),
          conv.bias ? desc({p.k}, BiasType(conv.types)) : memory::desc(),
          {p.stride_h, p.stride_w},
          {p.dilation_h - 1, p.dilation_w - 1},  // oneDNN counts the gaps
          {p.pad_top, p.pad_left},
          {p.pad_bottom, p.pad_right}};
}

algorithm AlgorithmOf(const Conv2dCase& conv) {
  if (conv.algorithm == Conv2dAlgorithm::kAuto) return algorithm::convolution_auto;
  return conv.algorithm == Conv2dAlgorithm::kWinograd ? algorithm::convolution_winograd
                                                      : algorithm::convolution_direct;
}

dnnl::primitive_attr AttributesOf(const Conv2dCase& conv) {
  dnnl::primitive_attr attributes;
  if (!conv.fpmath.empty()) attributes.set_fpmath_mode(onednn::FpmathMode(conv.fpmath));
  if (conv.scales) {
    attributes.set_scales_mask(DNNL_ARG_SRC, 0);
    attributes.set_scales_mask(DNNL_ARG_WEIGHTS, conv.problem.groups > 1 ? 3 : 1);  // per filter
    if (Conv2dScalesOf(conv).destination != 1) attributes.set_scales_mask(DNNL_ARG_DST, 0);
  }
  if (conv.relu) {
    dnnl::post_ops fused;
    fused.append_eltwise(algorithm::eltwise_relu, 0, 0);
    attributes.set_post_ops(fused);
  }
  return attributes;
}

// Owns what one execution needs.
struct Call {
  onednn::Tensors tensors;
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
  onednn::ArgumentList listed;  // the same, as Run wants them
  memory output;
  memory bias_gradient;  // empty without
  std::string implementation;

  void Run() const { onednn::Execute(primitive, listed); }

  Conv2dOutput<float> Output() const {
    Conv2dOutput<float> read{onednn::Plain(output)};
    if (bias_gradient) read.bias_gradient = onednn::Plain(bias_gradient);
    return read;
  }
};

dnnl::convolution_forward::primitive_desc Forward(const Conv2dCase& conv, const Shape& shape) {
  const bool inference = conv.direction == Conv2dDirection::kForward && !conv.training;
  const auto kind = inference ? prop_kind::forward_inference : prop_kind::forward_training;
  return {onednn::CpuEngine(), kind,        AlgorithmOf(conv), shape.source,
          shape.weights,       shape.bias,  shape.destination, shape.strides,
          shape.dilations,     shape.begin, shape.end,         AttributesOf(conv)};
}

void AddScales(const Conv2dCase& conv, Call& call) {
  if (!conv.scales) return;
  const auto scales = Conv2dScalesOf(conv);
  const auto add = [&](int argument, const std::vector<float>& values) {
    const auto count = static_cast<memory::dim>(values.size());
    call.arguments.emplace(
        DNNL_ARG_ATTR_SCALES | argument,
        call.tensors.Filled(onednn::PlainDesc({count}, memory::data_type::f32), values));
  };
  add(DNNL_ARG_SRC, {scales.source});
  add(DNNL_ARG_WEIGHTS, scales.weights);
  if (scales.destination != 1) add(DNNL_ARG_DST, {scales.destination});
}

Call PrepareForward(const Conv2dCase& conv, const Conv2dInputs& inputs) {
  const auto chosen = Forward(conv, ShapeOf(conv));
  Call call;
  call.primitive = dnnl::convolution_forward(chosen);
  call.implementation = chosen.impl_info_str();
  call.arguments = {{DNNL_ARG_SRC, call.tensors.Filled(chosen.src_desc(), inputs.source)},
                    {DNNL_ARG_WEIGHTS, call.tensors.Filled(chosen.weights_desc(), inputs.weights)}};
  call.output = call.tensors.Poisoned(chosen.dst_desc());
  call.arguments.emplace(DNNL_ARG_DST, call.output);
  if (conv.bias)
    call.arguments.emplace(DNNL_ARG_BIAS, call.tensors.Filled(chosen.bias_desc(), inputs.bias));
  AddScales(conv, call);
  return call;
}

Call PrepareBackwardData(const Conv2dCase& conv, const Conv2dInputs& inputs) {
  const auto shape = ShapeOf(conv);
  const dnnl::convolution_backward_data::primitive_desc chosen(
      onednn::CpuEngine(), AlgorithmOf(conv), shape.source, shape.weights, shape.destination,
      shape.strides, shape.dilations, shape.begin, shape.end, Forward(conv, shape),
      AttributesOf(conv));
  Call call;
  call.primitive = dnnl::convolution_backward_data(chosen);
  call.implementation = chosen.impl_info_str();
  call.arguments = {
      {DNNL_ARG_DIFF_DST, call.tensors.Filled(chosen.diff_dst_desc(), inputs.destination)},
      {DNNL_ARG_WEIGHTS, call.tensors.Filled(chosen.weights_desc(), inputs.weights)}};
  call.output = call.tensors.Poisoned(chosen.diff_src_desc());
  call.arguments.emplace(DNNL_ARG_DIFF_SRC, call.output);
  return call;
}

Call PrepareBackwardWeights(const Conv2dCase& conv, const Conv2dInputs& inputs) {
  const auto shape = ShapeOf(conv);
  const dnnl::convolution_backward_weights::primitive_desc chosen(
      onednn::CpuEngine(), AlgorithmOf(conv), shape.source, shape.weights, shape.bias,
      shape.destination, shape.strides, shape.dilations, shape.begin, shape.end,
      Forward(conv, shape), AttributesOf(conv));
  Call call;
  call.primitive = dnnl::convolution_backward_weights(chosen);
  call.implementation = chosen.impl_info_str();
  call.arguments = {
      {DNNL_ARG_DIFF_DST, call.tensors.Filled(chosen.diff_dst_desc(), inputs.destination)},
      {DNNL_ARG_SRC, call.tensors.Filled(chosen.src_desc(), inputs.source)}};
  call.output = call.tensors.Poisoned(chosen.diff_weights_desc());
  if (conv.bias) call.bias_gradient = call.tensors.Poisoned(chosen.diff_bias_desc());
  call.arguments.emplace(DNNL_ARG_DIFF_WEIGHTS, call.output);
  if (conv.bias) call.arguments.emplace(DNNL_ARG_DIFF_BIAS, call.bias_gradient);
  return call;
}

Call PrepareCall(const Conv2dCase& conv, const Conv2dInputs& inputs) {
  const auto make = conv.direction == Conv2dDirection::kForward        ? PrepareForward
                    : conv.direction == Conv2dDirection::kBackwardData ? PrepareBackwardData
                                                                       : PrepareBackwardWeights;
  Call call = make(conv, inputs);
  call.listed = onednn::ListedArguments(call.arguments);
  return call;
}

// Before anything is allocated.
void RequireSupport(const Conv2dCase& conv) {
  if (IsInt8(conv.types) && conv.direction != Conv2dDirection::kForward)
    throw Unsupported("int8 convolutions have no backward pass: oneDNN has fwd alone");
  // Each tensor in its type and once more as f32, to fill it or to read it.
  const auto bytes = [](int64_t count, std::string_view type) {
    return static_cast<double>(count) * static_cast<double>(4 + ElementBytes(type));
  };
  const auto& p = conv.problem;
  RequireHostMemory(bytes(SourceCount(p), conv.types.source) +
                        bytes(WeightsCount(p), conv.types.weights) +
                        bytes(DestinationCount(p), conv.types.destination),
                    ToText(p));
}

// oneDNN's last resort are plain loops, four orders of magnitude slower than its kernels (0.1 to
// 0.2 GFLOP/s on two cores): nobody wants to wait for them, nor take them for the library's speed.
void RequireKernel(const Conv2dCase& conv, const std::string& implementation) {
  constexpr int64_t kMostFlops = 100'000'000;
  if (implementation.starts_with("ref") && DenseFlops(conv.problem) > kMostFlops)
    throw Unsupported(
        fmt::format("oneDNN has no kernel for this here, only its reference loops ({}): seconds or "
                    "minutes a call",
                    implementation));
}

// The unit that computes. With fpmath the library may compute f32 in a narrower type; it did where
// the implementation's name has an instruction set that f32 itself cannot use.
std::string PipeOf(const Conv2dCase& conv, const std::string& implementation) {
  const auto type = std::string(ComputeType(conv.types));
  const bool narrowed = type == "f32" && !conv.fpmath.empty() &&
                        (implementation.find("amx") != std::string::npos ||
                         implementation.find("bf16") != std::string::npos);
  return onednn::MatrixPipe(narrowed ? "bf16" : type, implementation);
}

PreparedCall Prepare(const BenchmarkName& name, const RunSettings& settings) {
  const auto conv = ReadOnednnConv2dCase(name);
  RequireSupport(conv);
  onednn::SetThreads(settings.threads);
  auto inputs = std::make_shared<Conv2dInputs>(SeededConv2dInputs(conv, settings.seed));
  const auto what = fmt::format("conv2d {} {}", Key(conv.direction), conv.type);
  const auto call = std::make_shared<const Call>(
      onednn::Translated(what, [&] { return PrepareCall(conv, *inputs); }));
  RequireKernel(conv, call->implementation);
  PreparedCall prepared;
  prepared.run = [call] { call->Run(); };
  prepared.verify = [conv, call, inputs, seed = settings.seed] {
    call->Run();
    auto found = CheckConv2d(conv, *inputs, call->Output(), seed);
    *inputs = {};  // up to hundreds of megabytes that the timed calls do not need
    return found;
  };
  prepared.algorithm = call->implementation;
  prepared.isa = onednn::EffectiveIsa();
  prepared.modelled = Conv2dWork(conv, PipeOf(conv, call->implementation));
  prepared.levels = onednn::OfThisVersion(
      Conv2dLevels(conv, call->implementation, prepared.isa, BlockingHere(settings.threads)));
  prepared.memory = onednn::Regions(call->arguments, {DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS});
  return prepared;
}

[[maybe_unused]] const bool registered =
    RegisterCell({.op = "Conv2D", .device = "cpu", .library = "onednn", .prepare = Prepare});

}  // namespace
}  // namespace dlroof
