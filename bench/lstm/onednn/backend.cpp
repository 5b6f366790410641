// LSTM/cpu/onednn: an LSTM stack by oneDNN's LSTM primitive.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "bench/lstm/loops.h"
#include "bench/onednn/call.h"
#include "bench/workload/memory.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"

namespace dlroof::lstm {
namespace {

using Weights = LstmLayerWeights<float>;
using dnnl::memory;

constexpr dnnl::rnn_direction kRnnDirections[] = {
    // in the order of LstmPasses
    dnnl::rnn_direction::unidirectional_left2right, dnnl::rnn_direction::bidirectional_concat,
    dnnl::rnn_direction::bidirectional_sum};

bool IsInteger(memory::data_type type) {
  return type == memory::data_type::u8 || type == memory::data_type::s8;
}

// Returns the zero point: for u8 the middle of the integers that the scale uses, else 0.
float ShiftOf(memory::data_type type, const LstmProblem& problem) {
  return type == memory::data_type::u8 ? Int8ActivationScale(problem) + 1 : 0;
}

// Arguments of the weights and their gradients, and the tensor.
struct WeightsRow {
  int argument, gradient;
  std::vector<float> Weights::*tensor;
};
constexpr std::array<WeightsRow, 5> kWeights = {
    {{DNNL_ARG_WEIGHTS_LAYER, DNNL_ARG_DIFF_WEIGHTS_LAYER, &Weights::input},
     {DNNL_ARG_WEIGHTS_ITER, DNNL_ARG_DIFF_WEIGHTS_ITER, &Weights::state},
     {DNNL_ARG_WEIGHTS_PROJECTION, DNNL_ARG_DIFF_WEIGHTS_PROJECTION, &Weights::projection},
     {DNNL_ARG_WEIGHTS_PEEPHOLE, DNNL_ARG_DIFF_WEIGHTS_PEEPHOLE, &Weights::peephole},
     {DNNL_ARG_BIAS, DNNL_ARG_DIFF_BIAS, &Weights::bias}}};

memory::desc AnyDesc(const memory::dims& dims, memory::data_type type) {
  return {dims, type, memory::format_tag::any};
}

// What a call reads. Only `bwd` reads `d_output`.
struct LstmTensors {
  LstmInput<float> input;
  LstmOutput<float> d_output;
};

// Creates the primitives and memory of one stage from plain tensors. Sources, states and outputs
// have plain layouts (tnc, ldnc). oneDNN chooses the layout of the weights unless the name
// has the option ldigo. Layouts and attributes are those of benchdnn with --trivial-strides=true,
// so that times are comparable. Only scale and shift of int8 differ: to use the whole range of
// integers they are 127 and 128 (s8: 127 and 0; "bisum": see Int8ActivationScale), not benchdnn's
// 63.5 and 28. Weights have one common scale, benchdnn's default.
class StageBuilder {
 public:
  using ForwardDesc = dnnl::lstm_forward::primitive_desc;

  // Stores references to the arguments. Throws Unsupported for a type that oneDNN does not have.
  StageBuilder(const LstmCase& lstm, const LstmTensors& tensors, const LstmStage& stage)
      : lstm_(lstm), tensors_(tensors), stage_(stage) {
    // Sets the mode even if it is strict, because the environment may change oneDNN's default.
    attributes_.set_fpmath_mode(lstm.fpmath == "strict" ? dnnl::fpmath_mode::strict
                                                        : onednn::FpmathMode(lstm.fpmath));
    if (IsQuantized(type_)) {
      const float weight_scale = kInt8WeightSteps / Int8WeightLimit(problem_);
      for (auto* attributes : {&attributes_, &quantization_}) {
        attributes->set_rnn_data_qparams(Int8ActivationScale(problem_),
                                         ShiftOf(onednn::DataType(type_.source), problem_));
        attributes->set_rnn_weights_qparams(0, {weight_scale});
        if (problem_.p != 0) attributes->set_rnn_weights_projection_qparams(0, {weight_scale});
      }
    }
    const Shapes s = ShapesOfStage();
    forward_ = ForwardDesc(onednn::CpuEngine(),
                           onednn::ForwardKind(lstm.direction != LstmDirection::kForwardInference),
                           direction_, s.source, s.hidden, s.cell, s.input, s.state, s.peephole,
                           s.projection, s.bias, s.output, s.hidden, s.cell, attributes_);
  }

  // Returns a forward call. `below`: the previous stage's call, whose output it reads, or null.
  onednn::Call Forward(const onednn::Call* below) const {
    auto step = onednn::CallOf<dnnl::lstm_forward>(forward_);
    const auto& input = tensors_.input;
    AddSource(DNNL_ARG_SRC_LAYER, input.source, forward_, below, DNNL_ARG_DST_LAYER, step);
    AddStates(DNNL_ARG_SRC_ITER, input.initial_hidden, forward_, step);
    AddStates(DNNL_ARG_SRC_ITER_C, input.initial_cell, forward_, step);
    AddWeights(forward_, step);
    for (const int result : {DNNL_ARG_DST_LAYER, DNNL_ARG_DST_ITER, DNNL_ARG_DST_ITER_C})
      step.AddOutput(result, DescOf(forward_, result));
    if (forward_.workspace_desc().get_size() != 0)
      step.arguments[DNNL_ARG_WORKSPACE] = step.tensors.Zeroed(forward_.workspace_desc());
    return step;
  }

  // Returns a backward call. `forward`: the forward call. `above`: the backward call of the next
  // stage, which reads this stage's output; null for the last stage.
  onednn::Call Backward(const onednn::Call& forward, const onednn::Call* above) const {
    const Shapes s = ShapesOfStage();
    Shapes d = s;  // of the gradients; peepholes keep the plain layout
    for (auto* desc :
         {&d.source, &d.hidden, &d.cell, &d.input, &d.state, &d.projection, &d.bias, &d.output})
      if (!desc->is_zero()) *desc = AnyDesc(desc->get_dims(), memory::data_type::f32);
    if (above != nullptr) d.output = above->arguments.at(DNNL_ARG_DIFF_SRC_LAYER).get_desc();
    const dnnl::lstm_backward::primitive_desc chosen(
        onednn::CpuEngine(), dnnl::prop_kind::backward, direction_, s.source, s.hidden, s.cell,
        s.input, s.state, s.peephole, s.projection, s.bias, s.output, s.hidden, s.cell, d.source,
        d.hidden, d.cell, d.input, d.state, d.peephole, d.projection, d.bias, d.output, d.hidden,
        d.cell, forward_, attributes_);
    auto step = onednn::CallOf<dnnl::lstm_backward>(chosen);
    step.arguments = forward.arguments;
    AddWeights(chosen, step);
    const auto& d_output = tensors_.d_output;
    AddSource(DNNL_ARG_DIFF_DST_LAYER, d_output.output, chosen, above, DNNL_ARG_DIFF_SRC_LAYER,
              step);
    AddStates(DNNL_ARG_DIFF_DST_ITER, d_output.final_hidden, chosen, step);
    AddStates(DNNL_ARG_DIFF_DST_ITER_C, d_output.final_cell, chosen, step);
    for (const int result :
         {DNNL_ARG_DIFF_SRC_LAYER, DNNL_ARG_DIFF_SRC_ITER, DNNL_ARG_DIFF_SRC_ITER_C})
      step.AddOutput(result, DescOf(chosen, result));
    for (const auto& [argument, gradient, tensor] : kWeights)
      if (step.arguments.count(argument) > 0)
        step.arguments[gradient] = step.tensors.Zeroed(DescOf(chosen, gradient));
    return step;
  }

 private:
  struct Shapes {
    memory::desc source, hidden, cell, input, state, peephole, projection, bias, output;
  };

  Shapes ShapesOfStage() const {
    const auto& p = problem_;
    const int64_t layers = stage_.layers, passes = Passes(p), state = StateWidth(p);
    const int64_t input = InputWidth(p, stage_.first);
    const auto plain = [](const memory::dims& dims, std::string_view type) {
      return onednn::PlainDesc(dims, onednn::DataType(type));
    };
    const auto weights = [&](const memory::dims& dims) {
      return lstm_.plain_weights ? plain(dims, type_.weight)
                                 : AnyDesc(dims, onednn::DataType(type_.weight));
    };
    const bool last = stage_.first + layers == p.l;
    Shapes shapes{.source = plain({p.t, p.n, input}, type_.source),
                  .hidden = plain({layers, passes, p.n, state}, type_.hidden),
                  .cell = plain({layers, passes, p.n, p.h}, type_.cell),
                  .input = weights({layers, passes, input, 4, p.h}),
                  .state = weights({layers, passes, state, 4, p.h}),
                  .bias = plain({layers, passes, 4, p.h}, type_.bias),
                  .output = plain({p.t, p.n, OutputWidth(p)}, last ? type_.output : type_.source)};
    if (p.p != 0) shapes.projection = weights({layers, passes, p.h, p.p});
    if (p.peephole) shapes.peephole = plain({layers, passes, 3, p.h}, "f32");
    return shapes;
  }

  static memory::desc DescOf(const dnnl::primitive_desc_base& chosen, int argument) {
    return chosen.query_md(dnnl::query::exec_arg_md, argument);
  }

  // Adds an input with these values, which are quantized if it has integers.
  void Add(int argument, std::vector<float> values, const dnnl::primitive_desc_base& chosen,
           onednn::Call& step) const {
    const auto desc = DescOf(chosen, argument);
    const auto stored = desc.get_data_type();
    if (IsInteger(stored))
      for (float& value : values)
        value = std::round(value * Int8ActivationScale(problem_) + ShiftOf(stored, problem_));
    step.AddInput(argument, desc, values);
  }

  // Adds the result `made` of the step before as an input, or, for the first step, these values.
  void AddSource(int argument, const std::vector<float>& values,
                 const dnnl::primitive_desc_base& chosen, const onednn::Call* before, int made,
                 onednn::Call& step) const {
    if (before == nullptr) return Add(argument, values, chosen, step);
    step.arguments[argument] = before->arguments.at(made);
  }

  // Adds the states of the stage's layers, of [layer][pass][sample][channel].
  void AddStates(int argument, const std::vector<float>& states,
                 const dnnl::primitive_desc_base& chosen, onednn::Call& step) const {
    const auto begin = states.begin() + stage_.first * (std::ssize(states) / problem_.l);
    Add(argument, {begin, begin + stage_.layers * (std::ssize(states) / problem_.l)}, chosen, step);
  }

  // Adds the weights in this primitive's layouts, which may differ between forward and backward.
  void AddWeights(const dnnl::primitive_desc_base& chosen, onednn::Call& step) const {
    for (const auto& [argument, gradient, tensor] : kWeights) {
      std::vector<float> values;
      for (int64_t layer = stage_.first; layer < stage_.first + stage_.layers; ++layer) {
        const auto& of_layer = tensors_.input.layers[layer].*tensor;
        values.insert(values.end(), of_layer.begin(), of_layer.end());
      }
      if (values.empty()) continue;  // no projection, no peepholes
      const auto desc = DescOf(chosen, argument);
      step.weights.push_back(argument);
      if (!IsInteger(desc.get_data_type())) {
        step.AddInput(argument, desc, values);
        continue;
      }
      // Only a reorder can add the compensation that quantized weights need.
      memory plain(onednn::PlainDesc(desc.get_dims(), memory::data_type::f32), onednn::CpuEngine(),
                   values.data());
      auto& quantized = step.arguments[argument] = step.tensors.Empty(desc);
      dnnl::reorder(dnnl::reorder::primitive_desc(plain, quantized, quantization_))
          .execute(onednn::CpuStream(), plain, quantized);
      onednn::CpuStream().wait();
    }
  }

  const LstmCase& lstm_;
  const LstmProblem& problem_ = lstm_.problem;
  const LstmType& type_ = LstmTypeOf(lstm_.type);
  const dnnl::rnn_direction direction_ = kRnnDirections[static_cast<size_t>(problem_.passes)];
  const LstmTensors& tensors_;
  const LstmStage& stage_;
  dnnl::primitive_attr attributes_, quantization_;
  ForwardDesc forward_;
};

// Appends the dequantized values. `summed`: number of stored values that oneDNN added per element.
void Append(const memory& from, const LstmProblem& problem, std::vector<float>& to,
            int summed = 1) {
  auto values = onednn::Plain(from);
  const auto stored = from.get_desc().get_data_type();
  const float shift = static_cast<float>(summed) * ShiftOf(stored, problem);
  if (IsInteger(stored))
    for (float& value : values) value = (value - shift) / Int8ActivationScale(problem);
  to.insert(to.end(), values.begin(), values.end());
}

// The steps are one primitive per stage, for `bwd` from the last stage to the first. `bwd` adds to
// the weight gradients, so that they grow with every call.
struct LstmCall : onednn::Sequence {
  // Creates what Run() uses; for `bwd` runs a forward training call.
  LstmCall(const LstmCase& of_case, const LstmTensors& tensors) : lstm(of_case) {
    RequireOnednnLstm(lstm);
    const auto stages = LstmStages(lstm.problem);
    std::vector<StageBuilder> builders;
    for (const auto& stage : stages) {
      builders.emplace_back(of_case, tensors, stage);
      forward.push_back(builders.back().Forward(forward.empty() ? nullptr : &forward.back()));
    }
    if (lstm.direction == LstmDirection::kBackward) {
      for (const auto& step : forward)
        onednn::Execute(step.primitive, onednn::ListedArguments(step.arguments));
      for (size_t k = stages.size(); k-- > 0;)
        steps.push_back(builders[k].Backward(forward[k], steps.empty() ? nullptr : &steps.back()));
    } else {
      std::swap(steps, forward);
    }
    Finish();
  }

  // Returns the outputs of the last forward call as real numbers, dequantized if necessary.
  LstmOutput<float> Outputs() const {
    const LstmProblem& problem = lstm.problem;
    LstmOutput<float> outputs;
    Append(steps.back().arguments.at(DNNL_ARG_DST_LAYER), problem, outputs.output,
           problem.passes == LstmPasses::kSummed ? 2 : 1);
    for (const auto& step : steps) {
      Append(step.arguments.at(DNNL_ARG_DST_ITER), problem, outputs.final_hidden);
      Append(step.arguments.at(DNNL_ARG_DST_ITER_C), problem, outputs.final_cell);
    }
    return outputs;
  }

  // Returns the results of `bwd`; weights and bias: sums of all calls since these were cleared.
  LstmInput<float> Gradients() const {
    LstmInput<float> gradients;
    gradients.source = steps.back().Values(DNNL_ARG_DIFF_SRC_LAYER);
    auto step = steps.rbegin();
    for (const auto& stage : LstmStages(lstm.problem)) {
      const auto& made = (step++)->arguments;
      Append(made.at(DNNL_ARG_DIFF_SRC_ITER), lstm.problem, gradients.initial_hidden);
      Append(made.at(DNNL_ARG_DIFF_SRC_ITER_C), lstm.problem, gradients.initial_cell);
      gradients.layers.resize(stage.first + stage.layers);
      for (const auto& [argument, gradient, tensor] : kWeights) {
        if (made.count(gradient) == 0) continue;
        const auto values = onednn::Plain(made.at(gradient));
        const auto layer = std::ssize(values) / stage.layers;
        for (int64_t at = 0; at < stage.layers; ++at)
          (gradients.layers[stage.first + at].*tensor)
              .assign(values.begin() + at * layer, values.begin() + (at + 1) * layer);
      }
    }
    return gradients;
  }

  LstmCase lstm;
  std::vector<onednn::Call> forward{};  // of `bwd`: the forward calls, whose tensors it reads
};

workload::Verification Compared(const LstmCall& call, const LstmTensors& tensors) {
  const auto& lstm = call.lstm;
  for (const auto& step : call.steps)  // in place: the runner has stored the addresses
    for (const auto& row : kWeights)
      if (const auto* gradient = FindValue(step.arguments, row.gradient))
        std::memset(gradient->get_data_handle(), 0, gradient->get_desc().get_size());
  return CompareWithLoops(call, lstm.problem, lstm.direction, tensors.input, tensors.d_output,
                          OnednnLstmTolerance(lstm));
}

LstmTensors Seeded(const LstmCase& lstm, unsigned seed) {
  return {SeededLstmInput(lstm.problem, seed, lstm.type), SeededLstmGradient(lstm.problem, seed)};
}

LstmCase TwinOf(LstmCase lstm) {
  lstm.problem = Twin(lstm.problem, kMaxFlopsToVerify);
  return lstm;
}

workload::Verification Verify(const LstmCall& call, const LstmTensors& tensors, unsigned seed) {
  const auto lstm = TwinOf(call.lstm);
  if (lstm == call.lstm) return Compared(call, tensors);
  const auto seeded = Seeded(lstm, seed);
  const auto twin = onednn::Translated("LSTM " + lstm.type, [&] { return LstmCall(lstm, seeded); });
  auto verification = Compared(twin, seeded);
  const auto brief = [](const std::string& name) { return name.substr(0, name.find(':')); };
  const auto own = brief(call.implementation), twins = brief(twin.implementation);
  verification.how = fmt::format(
      "{} of the twin {} ({})", verification.how, ToText(lstm.problem),
      own == twins ? fmt::format("{} too", own) : fmt::format("{}, not {}", twins, own));
  return verification;
}

// Returns the costs of functions and, for oneDNN 3.2 only, of products: it is known that its
// reference LSTM calls gemm and merges the GEMMs of all steps, and that its brgemm LSTM does not.
PartSeconds Parts(const LstmProblem& problem, LstmDirection direction, const std::string& type,
                  std::string_view algorithm) {
  const auto functions = Functions(problem, direction);
  const bool by_gemm = algorithm.starts_with("ref");
  PartSeconds parts;
  if (const auto cost = onednn::FunctionCost(static_cast<double>(functions.sigmoids),
                                             static_cast<double>(functions.tanhs))) {
    parts.functions = cost->seconds;
    parts.function_instructions = cost->instructions;
  }
  if (!onednn::IsVersion32()) return parts;
  if (type != "f32" && (type != "bf16" || by_gemm)) return parts;
  if (const auto cost =
          onednn::ProductCost(Products(problem, direction, by_gemm), type,
                              by_gemm ? onednn::ProductBy::kGemm : onednn::ProductBy::kMatmul)) {
    parts.products = cost->seconds;
    parts.product_instructions = cost->instructions;
  }
  return parts;
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const LstmCase lstm = ReadOnednnLstmCase(name);
  const LstmType& type = LstmTypeOf(lstm.type);
  workload::RequireHostMemory(LeastHostBytes(lstm.problem, lstm.direction, type),
                              ToText(lstm.problem));
  const auto what = fmt::format("LSTM {}", type.name);
  const auto work = [&](const LstmCall& call) {
    onednn::Translated(what, [&] { call.Run(); });  // oneDNN creates some that it cannot execute
    return ModelledWork(
        lstm.problem, lstm.direction, type,
        LstmMatrixPipe(type, lstm.fpmath, call.implementation, onednn::EffectiveIsa()),
        "fp32.vector", static_cast<double>(call.steps.size()));
  };
  auto prepared = onednn::PrepareCall(
      settings, what, [lstm](unsigned seed) { return Seeded(lstm, seed); }, work,
      [lstm](const LstmTensors& tensors) { return LstmCall(lstm, tensors); },
      [seed = settings.seed](const LstmTensors& tensors, const LstmCall& call) {
        return Verify(call, tensors, seed);
      });
  // Other inputs would not reach the twin.
  if (TwinOf(lstm) != lstm) prepared.new_inputs = nullptr;
  prepared.explain.parts = [lstm, type = std::string(type.source), algorithm = prepared.algorithm] {
    return Parts(lstm.problem, lstm.direction, type, algorithm);
  };
  auto smallest = lstm.problem;
  smallest.n = smallest.i = smallest.h = 1;
  smallest.p = std::min<int64_t>(smallest.p, 1);
  if (smallest != lstm.problem)
    prepared.explain.smallest = [name, settings, smallest] {
      auto smallest_name = name;
      smallest_name.problem = ToText(smallest);
      return Prepare(smallest_name, settings);
    };
  return prepared;
}

[[maybe_unused]] const bool backend_registered = workload::RegisterBackend(
    {.op = "LSTM", .device = "cpu", .library = "onednn", .prepare = Prepare});

}  // namespace
}  // namespace dlroof::lstm
