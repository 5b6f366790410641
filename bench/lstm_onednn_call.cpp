#include "bench/lstm_onednn_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/onednn_support.h"
#include "counters/error.h"

namespace dlroof::onednn {
namespace {

using dnnl::memory;
using Descriptor = dnnl::lstm_forward::primitive_desc;
using BackwardDescriptor = dnnl::lstm_backward::primitive_desc;
using Arguments = std::unordered_map<int, memory>;
using Weights = LstmLayerWeights<float>;

constexpr float kU8Shift = 128;

// The descriptors of one stage, layouts left to the library.
struct Shapes {
  memory::desc source, hidden, cell, input, state, projection, bias, output;
};

Shapes ShapesOf(const LstmProblem& problem, const LstmStage& stage, memory::data_type activation,
                memory::data_type weight) {
  constexpr auto kAny = memory::format_tag::any;
  constexpr auto kF32 = memory::data_type::f32;
  const int64_t layers = stage.layers, passes = Passes(problem), state = StateWidth(problem);
  const int64_t t = problem.t, n = problem.n, h = problem.h;
  const int64_t input = InputWidth(problem, stage.first);
  Shapes shapes;
  shapes.source = {{t, n, input}, activation, kAny};
  shapes.output = {{t, n, OutputWidth(problem)}, activation, kAny};
  shapes.hidden = {{layers, passes, n, state}, activation, kAny};
  shapes.cell = {{layers, passes, n, h}, kF32, kAny};
  shapes.input = {{layers, passes, input, 4, h}, weight, kAny};
  shapes.state = {{layers, passes, state, 4, h}, weight, kAny};
  if (problem.p != 0) shapes.projection = {{layers, passes, h, problem.p}, weight, kAny};
  shapes.bias = {{layers, passes, 4, h}, kF32, kAny};
  return shapes;
}

dnnl::rnn_direction DirectionOf(const LstmProblem& problem) {
  if (problem.passes == LstmPasses::kConcatenated) return dnnl::rnn_direction::bidirectional_concat;
  if (problem.passes == LstmPasses::kSummed) return dnnl::rnn_direction::bidirectional_sum;
  return dnnl::rnn_direction::unidirectional_left2right;
}

// A stage's layers of one weight tensor, one behind the other.
std::vector<float> Joined(const LstmInput<float>& input, const LstmStage& stage,
                          std::vector<float> Weights::*tensor) {
  std::vector<float> values;
  for (int64_t layer = stage.first; layer < stage.first + stage.layers; ++layer) {
    const auto& part = input.layers[layer].*tensor;
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

// A stage's layers of states [layer][pass][sample][channel].
std::vector<float> LayersOf(const std::vector<float>& states, const LstmStage& stage,
                            const LstmProblem& problem) {
  const int64_t layer = static_cast<int64_t>(states.size()) / problem.l;
  return {states.begin() + stage.first * layer,
          states.begin() + (stage.first + stage.layers) * layer};
}

// Makes the primitives of one call from plain tensors.
class Builder {
 public:
  Builder(const LstmProblem& problem, LstmStorage storage, const LstmInput<float>& input)
      : problem_(problem), storage_(storage), input_(input) {
    if (!storage.quantized) return;
    weight_scale_ = kInt8WeightSteps / Int8WeightLimit(problem);
    attributes_.set_rnn_data_qparams(kInt8ActivationScale, kU8Shift);
    attributes_.set_rnn_weights_qparams(0, {weight_scale_});
    if (problem.p != 0) attributes_.set_rnn_weights_projection_qparams(0, {weight_scale_});
  }

  Descriptor Describe(const LstmStage& stage, dnnl::prop_kind kind, const Descriptor* below) const {
    const Shapes s = ShapesOf(problem_, stage, storage_.activation, storage_.weight);
    return {CpuEngine(),
            kind,
            DirectionOf(problem_),
            below != nullptr ? below->dst_layer_desc() : s.source,
            s.hidden,
            s.cell,
            s.input,
            s.state,
            memory::desc(),
            s.projection,
            s.bias,
            s.output,
            s.hidden,
            s.cell,
            attributes_};
  }

  // `below`: the arguments of the stage whose output this one reads; null for the first.
  LstmCall::Step Forward(const LstmStage& stage, const Descriptor& descriptor,
                         const Arguments* below) const {
    LstmCall::Step step{dnnl::lstm_forward(descriptor), {}, descriptor.impl_info_str()};
    Arguments& a = step.arguments;
    a[DNNL_ARG_SRC_LAYER] = below != nullptr
                                ? below->at(DNNL_ARG_DST_LAYER)
                                : Activation(descriptor.src_layer_desc(), input_.source);
    a[DNNL_ARG_SRC_ITER] =
        Activation(descriptor.src_iter_desc(), LayersOf(input_.initial_hidden, stage, problem_));
    a[DNNL_ARG_SRC_ITER_C] =
        Filled(descriptor.src_iter_c_desc(), LayersOf(input_.initial_cell, stage, problem_));
    AddWeights(stage, descriptor, a);
    a[DNNL_ARG_DST_LAYER] = Poisoned(descriptor.dst_layer_desc());
    a[DNNL_ARG_DST_ITER] = Poisoned(descriptor.dst_iter_desc());
    a[DNNL_ARG_DST_ITER_C] = Poisoned(descriptor.dst_iter_c_desc());
    if (descriptor.workspace_desc().get_size() != 0)
      a[DNNL_ARG_WORKSPACE] = Zeroed(descriptor.workspace_desc());
    return step;
  }

  // `above`: the arguments of the stage that reads this one's output; null for the last.
  LstmCall::Step Backward(const LstmStage& stage, const Descriptor& forward,
                          const Arguments& forward_arguments, const LstmOutput<float>& d_output,
                          const Arguments* above) const {
    const auto descriptor = DescribeBackward(stage, forward, above);
    LstmCall::Step step{dnnl::lstm_backward(descriptor), forward_arguments,
                        descriptor.impl_info_str()};
    Arguments& a = step.arguments;
    AddWeights(stage, descriptor, a);
    a[DNNL_ARG_DIFF_DST_LAYER] = above != nullptr
                                     ? above->at(DNNL_ARG_DIFF_SRC_LAYER)
                                     : Filled(descriptor.diff_dst_layer_desc(), d_output.output);
    a[DNNL_ARG_DIFF_DST_ITER] =
        Filled(descriptor.diff_dst_iter_desc(), LayersOf(d_output.final_hidden, stage, problem_));
    a[DNNL_ARG_DIFF_DST_ITER_C] =
        Filled(descriptor.diff_dst_iter_c_desc(), LayersOf(d_output.final_cell, stage, problem_));
    a[DNNL_ARG_DIFF_SRC_LAYER] = Poisoned(descriptor.diff_src_layer_desc());
    a[DNNL_ARG_DIFF_SRC_ITER] = Poisoned(descriptor.diff_src_iter_desc());
    a[DNNL_ARG_DIFF_SRC_ITER_C] = Poisoned(descriptor.diff_src_iter_c_desc());
    a[DNNL_ARG_DIFF_WEIGHTS_LAYER] = Zeroed(descriptor.diff_weights_layer_desc());
    a[DNNL_ARG_DIFF_WEIGHTS_ITER] = Zeroed(descriptor.diff_weights_iter_desc());
    if (problem_.p != 0)
      a[DNNL_ARG_DIFF_WEIGHTS_PROJECTION] = Zeroed(descriptor.diff_weights_projection_desc());
    a[DNNL_ARG_DIFF_BIAS] = Zeroed(descriptor.diff_bias_desc());
    return step;
  }

 private:
  BackwardDescriptor DescribeBackward(const LstmStage& stage, const Descriptor& forward,
                                      const Arguments* above) const {
    const Shapes s = ShapesOf(problem_, stage, storage_.activation, storage_.weight);
    constexpr auto kF32 = memory::data_type::f32;
    const Shapes d = ShapesOf(problem_, stage, kF32, kF32);
    const auto d_output =
        above != nullptr ? above->at(DNNL_ARG_DIFF_SRC_LAYER).get_desc() : d.output;
    return {CpuEngine(),
            dnnl::prop_kind::backward,
            DirectionOf(problem_),
            forward.src_layer_desc(),
            forward.src_iter_desc(),
            forward.src_iter_c_desc(),
            s.input,
            s.state,
            memory::desc(),
            s.projection,
            forward.bias_desc(),
            forward.dst_layer_desc(),
            forward.dst_iter_desc(),
            forward.dst_iter_c_desc(),
            d.source,
            d.hidden,
            d.cell,
            d.input,
            d.state,
            memory::desc(),
            d.projection,
            d.bias,
            d_output,
            d.hidden,
            d.cell,
            forward,
            attributes_};
  }

  // Forward and backward primitives prefer different layouts of the same weights.
  template <class AnyDescriptor>
  void AddWeights(const LstmStage& stage, const AnyDescriptor& descriptor, Arguments& a) const {
    a[DNNL_ARG_WEIGHTS_LAYER] =
        Weight(descriptor.weights_layer_desc(), Joined(input_, stage, &Weights::input));
    a[DNNL_ARG_WEIGHTS_ITER] =
        Weight(descriptor.weights_iter_desc(), Joined(input_, stage, &Weights::state));
    if (problem_.p != 0)
      a[DNNL_ARG_WEIGHTS_PROJECTION] =
          Weight(descriptor.weights_projection_desc(), Joined(input_, stage, &Weights::projection));
    a[DNNL_ARG_BIAS] = Filled(descriptor.bias_desc(), Joined(input_, stage, &Weights::bias));
  }

  memory Activation(const memory::desc& target, std::vector<float> values) const {
    if (storage_.quantized)
      for (float& value : values) value = std::round(value * kInt8ActivationScale + kU8Shift);
    return Filled(target, values);
  }

  // Quantized weights carry sums that the library needs beside them: only a reorder that knows the
  // scales makes those.
  memory Weight(const memory::desc& target, std::vector<float> values) const {
    if (!storage_.quantized) return Filled(target, values);
    memory plain(PlainDesc(target.get_dims(), memory::data_type::f32), CpuEngine(), values.data());
    memory filled(target, CpuEngine());
    dnnl::reorder(dnnl::reorder::primitive_desc(plain, filled, attributes_))
        .execute(CpuStream(), plain, filled);
    CpuStream().wait();
    return filled;
  }

  const LstmProblem& problem_;
  LstmStorage storage_;
  const LstmInput<float>& input_;
  dnnl::primitive_attr attributes_;
  float weight_scale_ = 1;
};

void Append(const memory& from, std::vector<float>& to) {
  const auto values = Plain(from);
  to.insert(to.end(), values.begin(), values.end());
}

}  // namespace

std::vector<LstmStage> LstmStages(const LstmProblem& problem) {
  const bool one_pass = problem.passes == LstmPasses::kForward;
  if (problem.l == 1 || (one_pass && InputWidth(problem, 0) == InputWidth(problem, 1)))
    return {{0, problem.l}};
  if (one_pass) return {{0, 1}, {1, problem.l - 1}};
  std::vector<LstmStage> stages;
  for (int64_t layer = 0; layer < problem.l; ++layer) stages.push_back({layer, 1});
  return stages;
}

LstmStorage StorageOf(std::string_view type) {
  if (type == "int8") return {DataType("u8"), DataType("s8"), true, {1, 1, 4, 4, 4}};
  const auto stored = DataType(type);
  const double bytes = type == "f32" ? 4 : 2;
  return {stored, stored, false, {bytes, bytes, 4, 4, 4}};
}

LstmCall::LstmCall(const LstmProblem& problem, LstmDirection direction, std::string_view type,
                   const LstmInput<float>& input, const LstmOutput<float>& d_output)
    : problem_(problem), direction_(direction), quantized_(StorageOf(type).quantized) {
  // Seen with 3.2: saturated sums of stored values, each with its shift.
  if (quantized_ && problem.passes == LstmPasses::kSummed)
    throw Unsupported(
        "oneDNN adds the stored u8 values of the two passes, shifts included: int8 has no bisum");
  const Builder builder(problem_, StorageOf(type), input);
  const auto stages = LstmStages(problem);
  const auto kind = direction == LstmDirection::kForwardInference
                        ? dnnl::prop_kind::forward_inference
                        : dnnl::prop_kind::forward_training;
  Translated(fmt::format("LSTM {} {}", Key(direction), type), [&] {
    std::vector<Descriptor> descriptors;
    for (const auto& stage : stages) {
      descriptors.push_back(
          builder.Describe(stage, kind, descriptors.empty() ? nullptr : &descriptors.back()));
      forward_.push_back(builder.Forward(stage, descriptors.back(),
                                         forward_.empty() ? nullptr : &forward_.back().arguments));
    }
    Execute(forward_);
    if (direction != LstmDirection::kBackward) return;
    for (size_t k = stages.size(); k-- > 0;)
      backward_.push_back(
          builder.Backward(stages[k], descriptors[k], forward_[k].arguments, d_output,
                           backward_.empty() ? nullptr : &backward_.back().arguments));
    Execute(backward_);
  });
}

void LstmCall::Execute(const std::vector<Step>& steps) {
  for (const auto& step : steps) step.primitive.execute(CpuStream(), step.arguments);
  CpuStream().wait();
}

LstmOutput<float> LstmCall::Outputs() const {
  LstmOutput<float> outputs;
  outputs.output = Plain(forward_.back().arguments.at(DNNL_ARG_DST_LAYER));
  for (const auto& step : forward_) {
    Append(step.arguments.at(DNNL_ARG_DST_ITER), outputs.final_hidden);
    Append(step.arguments.at(DNNL_ARG_DST_ITER_C), outputs.final_cell);
  }
  if (quantized_)
    for (auto* values : {&outputs.output, &outputs.final_hidden})
      for (float& value : *values) value = (value - kU8Shift) / kInt8ActivationScale;
  return outputs;
}

LstmInput<float> LstmCall::Gradients() const {
  const auto stages = LstmStages(problem_);
  LstmInput<float> gradients;
  gradients.source = Plain(BackwardOf(0).arguments.at(DNNL_ARG_DIFF_SRC_LAYER));
  gradients.layers.resize(problem_.l);
  for (size_t k = 0; k < stages.size(); ++k) {
    const auto& arguments = BackwardOf(k).arguments;
    Append(arguments.at(DNNL_ARG_DIFF_SRC_ITER), gradients.initial_hidden);
    Append(arguments.at(DNNL_ARG_DIFF_SRC_ITER_C), gradients.initial_cell);
    const auto split = [&](int argument, std::vector<float> Weights::*tensor) {
      const auto values = Plain(arguments.at(argument));
      const auto layer = static_cast<int64_t>(values.size()) / stages[k].layers;
      for (int64_t at = 0; at < stages[k].layers; ++at)
        (gradients.layers[stages[k].first + at].*tensor)
            .assign(values.begin() + at * layer, values.begin() + (at + 1) * layer);
    };
    split(DNNL_ARG_DIFF_WEIGHTS_LAYER, &Weights::input);
    split(DNNL_ARG_DIFF_WEIGHTS_ITER, &Weights::state);
    if (problem_.p != 0) split(DNNL_ARG_DIFF_WEIGHTS_PROJECTION, &Weights::projection);
    split(DNNL_ARG_DIFF_BIAS, &Weights::bias);
  }
  return gradients;
}

void LstmCall::ClearWeightGradients() {
  for (auto& step : backward_)
    for (const int argument : {DNNL_ARG_DIFF_WEIGHTS_LAYER, DNNL_ARG_DIFF_WEIGHTS_ITER,
                               DNNL_ARG_DIFF_WEIGHTS_PROJECTION, DNNL_ARG_DIFF_BIAS})
      if (const auto found = step.arguments.find(argument); found != step.arguments.end())
        found->second = Zeroed(found->second.get_desc());
}

std::string LstmCall::Algorithm() const {
  std::vector<std::string> names;
  for (const auto& step : direction_ == LstmDirection::kBackward ? backward_ : forward_)
    if (std::find(names.begin(), names.end(), step.implementation) == names.end())
      names.push_back(step.implementation);
  return fmt::format("{}", fmt::join(names, " + "));
}

}  // namespace dlroof::onednn
