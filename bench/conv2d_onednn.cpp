// Conv2D/cpu/onednn: convolution through oneDNN 3.x. Layouts are the library's own choice (`any`),
// reorders happen once, outside the timing.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "bench/conv2d_check.h"
#include "bench/host_memory.h"
#include "bench/onednn_support.h"

namespace dlroof {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

// A type's name as oneDNN's types of the three tensors.
struct TensorTypes {
  std::string_view source, weights, destination;
};

TensorTypes TypesOf(std::string_view type) {
  if (type == "int8") return {"u8", "s8", "u8"};
  return {type, type, type};
}

// What oneDNN wants to know about a problem.
struct Shape {
  memory::desc source, weights, destination;  // layout `any`
  memory::dims strides, dilations, begin, end;
};

Shape ShapeOf(const Conv2dProblem& p, std::string_view type) {
  const auto types = TypesOf(type);
  const auto any = [](const memory::dims& dims, std::string_view element) {
    return memory::desc(dims, onednn::DataType(element), memory::format_tag::any);
  };
  memory::dims weights = {p.k, p.c / p.groups, p.r, p.s};
  if (p.groups > 1) weights = {p.groups, p.k / p.groups, p.c / p.groups, p.r, p.s};
  return {any({p.n, p.c, p.h, p.w}, types.source),
          any(weights, types.weights),
          any({p.n, p.k, OutputHeight(p), OutputWidth(p)}, types.destination),
          {p.stride_h, p.stride_w},
          {p.dilation_h - 1, p.dilation_w - 1},  // oneDNN counts the gaps
          {p.pad_top, p.pad_left},
          {p.pad_bottom, p.pad_right}};
}

// Owns what one execution needs.
struct Call {
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
  memory output;
  std::string implementation;

  void Run() const {
    primitive.execute(onednn::CpuStream(), arguments);
    onednn::CpuStream().wait();
  }
};

dnnl::convolution_forward::primitive_desc Forward(const Shape& shape, prop_kind kind,
                                                  const dnnl::primitive_attr& attributes) {
  return {onednn::CpuEngine(),
          kind,
          algorithm::convolution_direct,
          shape.source,
          shape.weights,
          shape.destination,
          shape.strides,
          shape.dilations,
          shape.begin,
          shape.end,
          attributes};
}

Call PrepareForward(const Conv2dCase& one, const Conv2dInputs& inputs) {
  dnnl::primitive_attr attributes;
  if (one.type == "int8") attributes.set_scales_mask(DNNL_ARG_DST, 0);
  const auto chosen =
      Forward(ShapeOf(one.problem, one.type), prop_kind::forward_inference, attributes);
  Call call{dnnl::convolution_forward(chosen),
            {{DNNL_ARG_SRC, onednn::Filled(chosen.src_desc(), inputs.source)},
             {DNNL_ARG_WEIGHTS, onednn::Filled(chosen.weights_desc(), inputs.weights)}},
            onednn::Poisoned(chosen.dst_desc()),
            chosen.impl_info_str()};
  call.arguments.emplace(DNNL_ARG_DST, call.output);
  if (one.type == "int8")
    call.arguments.emplace(DNNL_ARG_ATTR_SCALES | DNNL_ARG_DST,
                           onednn::Filled(onednn::PlainDesc({1}, memory::data_type::f32),
                                          {Int8DestinationScale(one.problem)}));
  return call;
}

Call PrepareBackwardData(const Conv2dCase& one, const Conv2dInputs& inputs) {
  const auto shape = ShapeOf(one.problem, one.type);
  const dnnl::convolution_backward_data::primitive_desc chosen(
      onednn::CpuEngine(), algorithm::convolution_direct, shape.source, shape.weights,
      shape.destination, shape.strides, shape.dilations, shape.begin, shape.end,
      Forward(shape, prop_kind::forward_training, {}));
  Call call{dnnl::convolution_backward_data(chosen),
            {{DNNL_ARG_DIFF_DST, onednn::Filled(chosen.diff_dst_desc(), inputs.destination)},
             {DNNL_ARG_WEIGHTS, onednn::Filled(chosen.weights_desc(), inputs.weights)}},
            onednn::Poisoned(chosen.diff_src_desc()),
            chosen.impl_info_str()};
  call.arguments.emplace(DNNL_ARG_DIFF_SRC, call.output);
  return call;
}

Call PrepareBackwardWeights(const Conv2dCase& one, const Conv2dInputs& inputs) {
  const auto shape = ShapeOf(one.problem, one.type);
  const dnnl::convolution_backward_weights::primitive_desc chosen(
      onednn::CpuEngine(), algorithm::convolution_direct, shape.source, shape.weights,
      shape.destination, shape.strides, shape.dilations, shape.begin, shape.end,
      Forward(shape, prop_kind::forward_training, {}));
  Call call{dnnl::convolution_backward_weights(chosen),
            {{DNNL_ARG_DIFF_DST, onednn::Filled(chosen.diff_dst_desc(), inputs.destination)},
             {DNNL_ARG_SRC, onednn::Filled(chosen.src_desc(), inputs.source)}},
            onednn::Poisoned(chosen.diff_weights_desc()),
            chosen.impl_info_str()};
  call.arguments.emplace(DNNL_ARG_DIFF_WEIGHTS, call.output);
  return call;
}

Call PrepareCall(const Conv2dCase& one, const Conv2dInputs& inputs) {
  if (one.direction == Conv2dDirection::kForward) return PrepareForward(one, inputs);
  if (one.direction == Conv2dDirection::kBackwardData) return PrepareBackwardData(one, inputs);
  return PrepareBackwardWeights(one, inputs);
}

Conv2dElementBytes BytesOf(std::string_view type) {
  const auto bytes = [](std::string_view element) {
    return static_cast<int64_t>(memory::data_type_size(onednn::DataType(element)));
  };
  const auto types = TypesOf(type);
  return {bytes(types.source), bytes(types.weights), bytes(types.destination)};
}

// Before anything is allocated.
void RequireSupport(const Conv2dCase& one) {
  if (one.type == "int8" && one.direction != Conv2dDirection::kForward)
    throw Unsupported("int8 convolutions have no backward pass: oneDNN has fwd alone");
  // Each tensor in its type and once more as f32, to fill it or to read it.
  const auto bytes = BytesOf(one.type);
  const auto& p = one.problem;
  RequireHostMemory(
      static_cast<double>(SourceCount(p)) * static_cast<double>(4 + bytes.source) +
          static_cast<double>(WeightsCount(p)) * static_cast<double>(4 + bytes.weights) +
          static_cast<double>(DestinationCount(p)) * static_cast<double>(4 + bytes.destination),
      ToText(p));
}

PreparedCall Prepare(const Conv2dCase& one, const RunSettings& settings) {
  RequireSupport(one);
  onednn::SetThreads(settings.threads);
  auto inputs = std::make_shared<Conv2dInputs>(
      SeededConv2dInputs(one.problem, one.direction, one.type, settings.seed));
  const auto what = fmt::format("conv2d {} {}", Key(one.direction), one.type);
  const auto call = std::make_shared<const Call>(
      onednn::Translated(what, [&] { return PrepareCall(one, *inputs); }));
  PreparedCall prepared;
  prepared.run = [call] { call->Run(); };
  prepared.verify = [one, call, inputs, seed = settings.seed] {
    call->Run();
    auto found = CheckConv2d(one.problem, one.direction, one.type, *inputs,
                             onednn::Plain(call->output), seed);
    *inputs = {};  // up to hundreds of megabytes that the timed calls do not need
    return found;
  };
  prepared.algorithm = call->implementation;
  prepared.isa = onednn::EffectiveIsa();
  prepared.modelled = Conv2dWork(one.problem, onednn::MatrixPipe(one.type, call->implementation),
                                 BytesOf(one.type));
  return prepared;
}

Workload Make(const BenchmarkName& name) {
  const auto one = ReadConv2dCase(name, {"f32", "bf16", "f16", "int8"});
  return {.name = name,
          .prepare = [one](const RunSettings& settings) { return Prepare(one, settings); }};
}

[[maybe_unused]] const bool registered = RegisterCell({"Conv2D", "cpu", "onednn", Make});

}  // namespace
}  // namespace dlroof
