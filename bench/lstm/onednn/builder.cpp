#include "bench/lstm/onednn/builder.h"

#include <cmath>

namespace dlroof::lstm {
namespace {

using dnnl::memory;
using Weights = LstmLayerWeights<float>;

dnnl::rnn_direction DirectionOf(const LstmProblem& problem) {
  if (problem.passes == LstmPasses::kConcatenated) return dnnl::rnn_direction::bidirectional_concat;
  if (problem.passes == LstmPasses::kSummed) return dnnl::rnn_direction::bidirectional_sum;
  return dnnl::rnn_direction::unidirectional_left2right;
}

bool IsInteger(memory::data_type type) {
  return type == memory::data_type::u8 || type == memory::data_type::s8;
}

// Returns the number that is stored for 0, which is the middle of the range that the scale fills.
float ShiftOf(memory::data_type type, const LstmProblem& problem) {
  return type == memory::data_type::u8 ? Int8ActivationScale(problem) + 1 : 0;
}

// Returns one weight tensor of a stage's layers, concatenated.
std::vector<float> Joined(const LstmInput<float>& input, const LstmStage& stage,
                          std::vector<float> Weights::*tensor) {
  std::vector<float> values;
  for (int64_t layer = stage.first; layer < stage.first + stage.layers; ++layer) {
    const auto& part = input.layers[layer].*tensor;
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

// Returns the states of a stage's layers [layer][pass][sample][channel].
std::vector<float> LayersOf(const std::vector<float>& states, const LstmStage& stage,
                            const LstmProblem& problem) {
  const int64_t layer = static_cast<int64_t>(states.size()) / problem.l;
  return {states.begin() + stage.first * layer,
          states.begin() + (stage.first + stage.layers) * layer};
}

// Returns a descriptor whose layout the library chooses.
memory::desc AnyDesc(const memory::dims& dims, memory::data_type type) {
  return {dims, type, memory::format_tag::any};
}

}  // namespace

LstmBuilder::LstmBuilder(const LstmCase& lstm, const LstmType& type, const LstmInput<float>& input)
    : lstm_(lstm), problem_(lstm.problem), type_(type), input_(input) {
  // Also sets the default, because the environment can change it.
  attributes_.set_fpmath_mode(lstm.fpmath == "strict" ? dnnl::fpmath_mode::strict
                                                      : onednn::FpmathMode(lstm.fpmath));
  if (!IsQuantized(type)) return;
  const float weight_scale = kInt8WeightSteps / Int8WeightLimit(problem_);
  for (auto* attributes : {&attributes_, &quantization_}) {
    attributes->set_rnn_data_qparams(Int8ActivationScale(problem_),
                                     ShiftOf(onednn::DataType(type.source), problem_));
    attributes->set_rnn_weights_qparams(0, {weight_scale});
    if (problem_.p != 0) attributes->set_rnn_weights_projection_qparams(0, {weight_scale});
  }
}

LstmBuilder::Shapes LstmBuilder::ShapesOf(const LstmStage& stage) const {
  const int64_t layers = stage.layers, passes = Passes(problem_), state = StateWidth(problem_);
  const int64_t t = problem_.t, n = problem_.n, h = problem_.h;
  const int64_t input = InputWidth(problem_, stage.first);
  const auto plain = [](const memory::dims& dims, std::string_view type) {
    return onednn::PlainDesc(dims, onednn::DataType(type));
  };
  const auto weights = [&](const memory::dims& dims) {
    return lstm_.plain_weights ? plain(dims, type_.weight)
                               : AnyDesc(dims, onednn::DataType(type_.weight));
  };
  const bool last = stage.first + stage.layers == problem_.l;
  Shapes shapes{.source = plain({t, n, input}, type_.source),
                .hidden = plain({layers, passes, n, state}, type_.hidden),
                .cell = plain({layers, passes, n, h}, type_.cell),
                .input = weights({layers, passes, input, 4, h}),
                .state = weights({layers, passes, state, 4, h}),
                .bias = plain({layers, passes, 4, h}, type_.bias),
                .output = plain({t, n, OutputWidth(problem_)}, last ? type_.output : type_.source)};
  if (problem_.p != 0) shapes.projection = weights({layers, passes, h, problem_.p});
  if (problem_.peephole) shapes.peephole = plain({layers, passes, 3, h}, "f32");
  return shapes;
}

LstmBuilder::Shapes LstmBuilder::GradientShapesOf(const LstmStage& stage) const {
  Shapes shapes = ShapesOf(stage);  // the peepholes stay plain
  for (auto* desc : {&shapes.source, &shapes.hidden, &shapes.cell, &shapes.input, &shapes.state,
                     &shapes.bias, &shapes.output})
    *desc = AnyDesc(desc->get_dims(), memory::data_type::f32);
  if (problem_.p != 0)
    shapes.projection = AnyDesc(shapes.projection.get_dims(), memory::data_type::f32);
  return shapes;
}

LstmBuilder::Forward LstmBuilder::Describe(const LstmStage& stage) const {
  const Shapes s = ShapesOf(stage);
  const auto kind = lstm_.direction == LstmDirection::kForwardInference
                        ? dnnl::prop_kind::forward_inference
                        : dnnl::prop_kind::forward_training;
  return {onednn::CpuEngine(),
          kind,
          DirectionOf(problem_),
          s.source,
          s.hidden,
          s.cell,
          s.input,
          s.state,
          s.peephole,
          s.projection,
          s.bias,
          s.output,
          s.hidden,
          s.cell,
          attributes_};
}

LstmStep LstmBuilder::MakeForward(const LstmStage& stage, const Forward& descriptor,
                                  const LstmStep* below) const {
  LstmStep step{dnnl::lstm_forward(descriptor), {}, descriptor.impl_info_str(), {}, {}};
  auto& a = step.arguments;
  a[DNNL_ARG_SRC_LAYER] =
      below != nullptr ? below->arguments.at(DNNL_ARG_DST_LAYER)
                       : Activation(descriptor.src_layer_desc(), input_.source, step.tensors);
  a[DNNL_ARG_SRC_ITER] = Activation(descriptor.src_iter_desc(),
                                    LayersOf(input_.initial_hidden, stage, problem_), step.tensors);
  a[DNNL_ARG_SRC_ITER_C] = step.tensors.Filled(descriptor.src_iter_c_desc(),
                                               LayersOf(input_.initial_cell, stage, problem_));
  AddWeights(stage, descriptor, step);
  a[DNNL_ARG_DST_LAYER] = step.tensors.Poisoned(descriptor.dst_layer_desc());
  a[DNNL_ARG_DST_ITER] = step.tensors.Poisoned(descriptor.dst_iter_desc());
  a[DNNL_ARG_DST_ITER_C] = step.tensors.Poisoned(descriptor.dst_iter_c_desc());
  if (descriptor.workspace_desc().get_size() != 0)
    a[DNNL_ARG_WORKSPACE] = step.tensors.Zeroed(descriptor.workspace_desc());
  step.listed = onednn::ListedArguments(a);
  return step;
}

LstmStep LstmBuilder::MakeBackward(const LstmStage& stage, const Forward& forward_descriptor,
                                   const LstmStep& forward, const LstmOutput<float>& d_output,
                                   const LstmStep* above) const {
  const auto descriptor = DescribeBackward(stage, forward_descriptor, above);
  LstmStep step{
      dnnl::lstm_backward(descriptor), forward.arguments, descriptor.impl_info_str(), {}, {}};
  auto& a = step.arguments;
  AddWeights(stage, descriptor, step);
  a[DNNL_ARG_DIFF_DST_LAYER] =
      above != nullptr ? above->arguments.at(DNNL_ARG_DIFF_SRC_LAYER)
                       : step.tensors.Filled(descriptor.diff_dst_layer_desc(), d_output.output);
  a[DNNL_ARG_DIFF_DST_ITER] = step.tensors.Filled(descriptor.diff_dst_iter_desc(),
                                                  LayersOf(d_output.final_hidden, stage, problem_));
  a[DNNL_ARG_DIFF_DST_ITER_C] = step.tensors.Filled(descriptor.diff_dst_iter_c_desc(),
                                                    LayersOf(d_output.final_cell, stage, problem_));
  a[DNNL_ARG_DIFF_SRC_LAYER] = step.tensors.Poisoned(descriptor.diff_src_layer_desc());
  a[DNNL_ARG_DIFF_SRC_ITER] = step.tensors.Poisoned(descriptor.diff_src_iter_desc());
  a[DNNL_ARG_DIFF_SRC_ITER_C] = step.tensors.Poisoned(descriptor.diff_src_iter_c_desc());
  a[DNNL_ARG_DIFF_WEIGHTS_LAYER] = step.tensors.Zeroed(descriptor.diff_weights_layer_desc());
  a[DNNL_ARG_DIFF_WEIGHTS_ITER] = step.tensors.Zeroed(descriptor.diff_weights_iter_desc());
  if (problem_.peephole)
    a[DNNL_ARG_DIFF_WEIGHTS_PEEPHOLE] =
        step.tensors.Zeroed(descriptor.diff_weights_peephole_desc());
  if (problem_.p != 0)
    a[DNNL_ARG_DIFF_WEIGHTS_PROJECTION] =
        step.tensors.Zeroed(descriptor.diff_weights_projection_desc());
  a[DNNL_ARG_DIFF_BIAS] = step.tensors.Zeroed(descriptor.diff_bias_desc());
  step.listed = onednn::ListedArguments(a);
  return step;
}

dnnl::lstm_backward::primitive_desc LstmBuilder::DescribeBackward(const LstmStage& stage,
                                                                  const Forward& forward,
                                                                  const LstmStep* above) const {
  const Shapes s = ShapesOf(stage), d = GradientShapesOf(stage);
  const auto d_output =
      above != nullptr ? above->arguments.at(DNNL_ARG_DIFF_SRC_LAYER).get_desc() : d.output;
  return dnnl::lstm_backward::primitive_desc(
      onednn::CpuEngine(), dnnl::prop_kind::backward, DirectionOf(problem_), s.source, s.hidden,
      s.cell, s.input, s.state, s.peephole, s.projection, s.bias, s.output, s.hidden, s.cell,
      d.source, d.hidden, d.cell, d.input, d.state, d.peephole, d.projection, d.bias, d_output,
      d.hidden, d.cell, forward, attributes_);
}

// Forward and backward primitives prefer different layouts of the same weights.
template <class AnyDescriptor>
void LstmBuilder::AddWeights(const LstmStage& stage, const AnyDescriptor& descriptor,
                             LstmStep& step) const {
  auto& a = step.arguments;
  a[DNNL_ARG_WEIGHTS_LAYER] =
      Weight(descriptor.weights_layer_desc(), Joined(input_, stage, &Weights::input), step.tensors);
  a[DNNL_ARG_WEIGHTS_ITER] =
      Weight(descriptor.weights_iter_desc(), Joined(input_, stage, &Weights::state), step.tensors);
  if (problem_.p != 0)
    a[DNNL_ARG_WEIGHTS_PROJECTION] =
        Weight(descriptor.weights_projection_desc(), Joined(input_, stage, &Weights::projection),
               step.tensors);
  if (problem_.peephole)
    a[DNNL_ARG_WEIGHTS_PEEPHOLE] = step.tensors.Filled(descriptor.weights_peephole_desc(),
                                                       Joined(input_, stage, &Weights::peephole));
  a[DNNL_ARG_BIAS] =
      step.tensors.Filled(descriptor.bias_desc(), Joined(input_, stage, &Weights::bias));
}

memory LstmBuilder::Activation(const memory::desc& target, std::vector<float> values,
                               onednn::Tensors& tensors) const {
  const auto stored = target.get_data_type();
  if (IsInteger(stored))
    for (float& value : values)
      value = std::round(value * Int8ActivationScale(problem_) + ShiftOf(stored, problem_));
  return tensors.Filled(target, values);
}

// Quantized weights include sums that the library needs. Only a reorder that knows the scales
// computes these.
memory LstmBuilder::Weight(const memory::desc& target, std::vector<float> values,
                           onednn::Tensors& tensors) const {
  if (!IsQuantized(type_)) return tensors.Filled(target, values);
  memory plain(onednn::PlainDesc(target.get_dims(), memory::data_type::f32), onednn::CpuEngine(),
               values.data());
  memory filled = tensors.Empty(target);
  dnnl::reorder(dnnl::reorder::primitive_desc(plain, filled, quantization_))
      .execute(onednn::CpuStream(), plain, filled);
  onednn::CpuStream().wait();
  return filled;
}

std::vector<float> RealActivation(const memory& activation, const LstmProblem& problem,
                                  int summed) {
  auto values = onednn::Plain(activation);
  const auto stored = activation.get_desc().get_data_type();
  const float shift = static_cast<float>(summed) * ShiftOf(stored, problem);
  if (IsInteger(stored))
    for (float& value : values) value = (value - shift) / Int8ActivationScale(problem);
  return values;
}

}  // namespace dlroof::lstm
