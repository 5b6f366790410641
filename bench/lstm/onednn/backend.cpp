#include "bench/lstm/onednn/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <dnnl.hpp>
#include <memory>
#include <unordered_set>

#include "bench/lstm/loops.h"
#include "bench/workload/memory.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"

namespace dlroof::lstm {
namespace {

using Weights = LstmLayerWeights<float>;
using dnnl::memory;

dnnl::rnn_direction DirectionOf(const LstmProblem& problem) {
  if (problem.passes == LstmPasses::kConcatenated) return dnnl::rnn_direction::bidirectional_concat;
  if (problem.passes == LstmPasses::kSummed) return dnnl::rnn_direction::bidirectional_sum;
  return dnnl::rnn_direction::unidirectional_left2right;
}

bool IsInteger(memory::data_type type) {
  return type == memory::data_type::u8 || type == memory::data_type::s8;
}

// Returns the zero point: for u8 the middle of the integers that the scale uses, else 0.
float ShiftOf(memory::data_type type, const LstmProblem& problem) {
  return type == memory::data_type::u8 ? Int8ActivationScale(problem) + 1 : 0;
}

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

// Creates the primitives and memory of an LSTM stack from plain tensors. Sources, states and
// outputs have plain layouts (tnc, ldnc). oneDNN chooses the layout of the weights unless the name
// has the option ldigo. Layouts and attributes are those of benchdnn with --trivial-strides=true,
// so that times are comparable. Only scale and shift of int8 differ: to use the whole range of
// integers they are 127 and 128 (s8: 127 and 0; "bisum": see Int8ActivationScale), not benchdnn's
// 63.5 and 28. Weights have one common scale, benchdnn's default.
class LstmBuilder {
 public:
  using Forward = dnnl::lstm_forward::primitive_desc;

  // Stores references to the arguments. Throws Unsupported for a type that oneDNN does not have.
  LstmBuilder(const LstmCase& lstm, const LstmInput<float>& input)
      : lstm_(lstm), problem_(lstm.problem), type_(LstmTypeOf(lstm.type)), input_(input) {
    // Sets the mode even if it is strict, because the environment may change oneDNN's default.
    attributes_.set_fpmath_mode(lstm.fpmath == "strict" ? dnnl::fpmath_mode::strict
                                                        : onednn::FpmathMode(lstm.fpmath));
    if (!IsQuantized(type_)) return;
    const float weight_scale = kInt8WeightSteps / Int8WeightLimit(problem_);
    for (auto* attributes : {&attributes_, &quantization_}) {
      attributes->set_rnn_data_qparams(Int8ActivationScale(problem_),
                                       ShiftOf(onednn::DataType(type_.source), problem_));
      attributes->set_rnn_weights_qparams(0, {weight_scale});
      if (problem_.p != 0) attributes->set_rnn_weights_projection_qparams(0, {weight_scale});
    }
  }

  // Describes a stage's forward call. Throws dnnl::error if the library does not support it.
  Forward Describe(const LstmStage& stage) const {
    const Shapes s = ShapesOf(stage);
    return Forward(onednn::CpuEngine(),
                   onednn::ForwardKind(lstm_.direction != LstmDirection::kForwardInference),
                   DirectionOf(problem_), s.source, s.hidden, s.cell, s.input, s.state, s.peephole,
                   s.projection, s.bias, s.output, s.hidden, s.cell, attributes_);
  }

  // Returns a forward call. `below`: the previous stage's call, whose output it reads, or null.
  onednn::Call MakeForward(const LstmStage& stage, const Forward& descriptor,
                           const onednn::Call* below) const {
    auto step = onednn::CallOf<dnnl::lstm_forward>(descriptor);
    if (below != nullptr)
      step.arguments[DNNL_ARG_SRC_LAYER] = below->arguments.at(DNNL_ARG_DST_LAYER);
    else
      Add(DNNL_ARG_SRC_LAYER, input_.source, descriptor, step);
    Add(DNNL_ARG_SRC_ITER, LayersOf(input_.initial_hidden, stage, problem_), descriptor, step);
    Add(DNNL_ARG_SRC_ITER_C, LayersOf(input_.initial_cell, stage, problem_), descriptor, step);
    AddWeights(stage, descriptor, step);
    for (const int result : {DNNL_ARG_DST_LAYER, DNNL_ARG_DST_ITER, DNNL_ARG_DST_ITER_C})
      step.AddOutput(result, DescOf(descriptor, result));
    if (descriptor.workspace_desc().get_size() != 0)
      step.arguments[DNNL_ARG_WORKSPACE] = step.tensors.Zeroed(descriptor.workspace_desc());
    step.listed = onednn::ListedArguments(step.arguments);
    return step;
  }

  // Returns a stage's backward call. `forward`: its forward call. `above`: the backward call of the
  // next stage, which reads this stage's output; null for the last stage.
  onednn::Call MakeBackward(const LstmStage& stage, const Forward& forward_descriptor,
                            const onednn::Call& forward, const LstmOutput<float>& d_output,
                            const onednn::Call* above) const {
    const auto descriptor = DescribeBackward(stage, forward_descriptor, above);
    auto step = onednn::CallOf<dnnl::lstm_backward>(descriptor);
    step.arguments = forward.arguments;
    AddWeights(stage, descriptor, step);
    if (above != nullptr)
      step.arguments[DNNL_ARG_DIFF_DST_LAYER] = above->arguments.at(DNNL_ARG_DIFF_SRC_LAYER);
    else
      Add(DNNL_ARG_DIFF_DST_LAYER, d_output.output, descriptor, step);
    Add(DNNL_ARG_DIFF_DST_ITER, LayersOf(d_output.final_hidden, stage, problem_), descriptor, step);
    Add(DNNL_ARG_DIFF_DST_ITER_C, LayersOf(d_output.final_cell, stage, problem_), descriptor, step);
    for (const int result :
         {DNNL_ARG_DIFF_SRC_LAYER, DNNL_ARG_DIFF_SRC_ITER, DNNL_ARG_DIFF_SRC_ITER_C})
      step.AddOutput(result, DescOf(descriptor, result));
    for (const auto& [argument, gradient, tensor] : kWeights)
      if (step.arguments.count(argument) > 0)
        step.arguments[gradient] = step.tensors.Zeroed(DescOf(descriptor, gradient));
    step.listed = onednn::ListedArguments(step.arguments);
    return step;
  }

 private:
  struct Shapes {
    memory::desc source, hidden, cell, input, state, peephole, projection, bias, output;
  };

  Shapes ShapesOf(const LstmStage& stage) const {
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
    Shapes shapes{
        .source = plain({t, n, input}, type_.source),
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

  Shapes GradientShapesOf(const LstmStage& stage) const {
    Shapes shapes = ShapesOf(stage);  // peepholes keep the plain layout
    for (auto* desc : {&shapes.source, &shapes.hidden, &shapes.cell, &shapes.input, &shapes.state,
                       &shapes.projection, &shapes.bias, &shapes.output})
      if (!desc->is_zero()) *desc = AnyDesc(desc->get_dims(), memory::data_type::f32);
    return shapes;
  }

  dnnl::lstm_backward::primitive_desc DescribeBackward(const LstmStage& stage,
                                                       const Forward& forward,
                                                       const onednn::Call* above) const {
    const Shapes s = ShapesOf(stage), d = GradientShapesOf(stage);
    const auto d_output =
        above != nullptr ? above->arguments.at(DNNL_ARG_DIFF_SRC_LAYER).get_desc() : d.output;
    return dnnl::lstm_backward::primitive_desc(
        onednn::CpuEngine(), dnnl::prop_kind::backward, DirectionOf(problem_), s.source, s.hidden,
        s.cell, s.input, s.state, s.peephole, s.projection, s.bias, s.output, s.hidden, s.cell,
        d.source, d.hidden, d.cell, d.input, d.state, d.peephole, d.projection, d.bias, d_output,
        d.hidden, d.cell, forward, attributes_);
  }

  static memory::desc DescOf(const dnnl::primitive_desc_base& descriptor, int argument) {
    return descriptor.query_md(dnnl::query::exec_arg_md, argument);
  }

  // Adds an input with these values, which are quantized if it has integers.
  void Add(int argument, std::vector<float> values, const dnnl::primitive_desc_base& descriptor,
           onednn::Call& step) const {
    const auto desc = DescOf(descriptor, argument);
    const auto stored = desc.get_data_type();
    if (IsInteger(stored))
      for (float& value : values)
        value = std::round(value * Int8ActivationScale(problem_) + ShiftOf(stored, problem_));
    step.AddInput(argument, desc, values);
  }

  // Adds the weights in this primitive's layouts, which may differ between forward and backward.
  void AddWeights(const LstmStage& stage, const dnnl::primitive_desc_base& descriptor,
                  onednn::Call& step) const {
    for (const auto& [argument, gradient, tensor] : kWeights) {
      auto values = Joined(input_, stage, tensor);
      if (values.empty()) continue;  // no projection, no peepholes
      const auto desc = DescOf(descriptor, argument);
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
  const LstmProblem& problem_;
  const LstmType& type_;
  const LstmInput<float>& input_;
  dnnl::primitive_attr attributes_, quantization_;
};

// Returns the dequantized values. `summed`: number of stored values that oneDNN added per element.
std::vector<float> RealActivation(const memory& activation, const LstmProblem& problem,
                                  int summed = 1) {
  auto values = onednn::Plain(activation);
  const auto stored = activation.get_desc().get_data_type();
  const float shift = static_cast<float>(summed) * ShiftOf(stored, problem);
  if (IsInteger(stored))
    for (float& value : values) value = (value - shift) / Int8ActivationScale(problem);
  return values;
}

void Append(const dnnl::memory& from, const LstmProblem& problem, std::vector<float>& to) {
  const auto values = RealActivation(from, problem);
  to.insert(to.end(), values.begin(), values.end());
}

// Throws Unsupported for calls that oneDNN 3.2 accepts but computes wrongly or crashes in.
void RefuseWhatTheLibraryGetsWrong(const LstmCase& lstm) {
  const LstmType& type = LstmTypeOf(lstm.type);
  if (type.source == "u8" && lstm.problem.passes == LstmPasses::kSummed && lstm.problem.l > 1)
    throw Unsupported(
        "oneDNN adds the stored u8 numbers of two passes, each with its shift, but the next layer "
        "would subtract only one shift ({}, bisum)",
        type.name);
  // benchdnn crashes as well: oneDNN overwrites the heap.
  if (IsQuantized(type) && lstm.fpmath != "strict")
    throw Unsupported("fpmath modes are for f32: oneDNN accepts fpmath-{} with {} and crashes",
                      lstm.fpmath, type.name);
}

// Returns the allowed error, divided by the tensor's largest value [1]:
// - f32: 1e-5. Each of some tens of consecutive operations through a gate has an error of 2^-24;
//   states damp earlier errors. Observed: 2e-6.
// - bf16, f16: 0.02. Each stored hidden state, which the next step and layer read, is rounded by
//   2^-9 of its size, and so are gates in the backward pass. Observed with bf16: 6e-3. The same
//   holds for f32 with an fpmath mode, which rounds factors of products: a smaller error.
// - int8: 0.1. A hidden state is off by 1/254 of full scale, and by twice as much after a
//   projection, whose outputs are some tenths in size. Observed: 1e-2, with a projection 4e-2.
// A wrong gate, weight or step causes an error of some tenths. Except for int8 the allowed error
// grows like sqrt(t*n) from t*n = 2048 on, because weight gradients are sums of t*n terms.
double Tolerance(const LstmCase& lstm) {
  const double terms = static_cast<double>(lstm.problem.t * lstm.problem.n);
  const double growth = std::sqrt(std::max(1.0, terms / 2048));
  if (IsQuantized(LstmTypeOf(lstm.type))) return 0.1;
  return (lstm.type == "f32" && lstm.fpmath == "strict" ? 1e-5 : 0.02) * growth;
}

std::string Short(const std::string& implementation) {
  return implementation.substr(0, implementation.find(':'));
}

workload::Verification Verify(LstmCall& call, unsigned seed) {
  LstmCase lstm = call.lstm();
  lstm.problem = Twin(lstm.problem, kMaxFlopsToVerify);
  const auto input = SeededLstmInput(lstm.problem, seed, lstm.type);
  const auto d_output = SeededLstmGradient(lstm.problem, seed);
  if (lstm == call.lstm()) return CompareWithLoops(call, input, d_output);
  LstmCall twin(lstm, input, d_output);
  auto verification = CompareWithLoops(twin, input, d_output);
  const auto own = Short(call.Algorithm()), twins = Short(twin.Algorithm());
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
  onednn::SetThreads(settings.threads);
  auto call =
      std::make_shared<LstmCall>(lstm, SeededLstmInput(lstm.problem, settings.seed, lstm.type),
                                 SeededLstmGradient(lstm.problem, settings.seed));
  // oneDNN creates some primitives that it cannot execute.
  onednn::Translated(fmt::format("LSTM {}", type.name), [&] { call->Run(); });
  workload::PreparedCall prepared;
  prepared.run = [call] { call->Run(); };
  const auto seed = std::make_shared<unsigned>(settings.seed);
  prepared.verify = [call, seed] { return Verify(*call, *seed); };
  if (Twin(lstm.problem, kMaxFlopsToVerify) == lstm.problem)
    prepared.new_inputs = [call, seed](unsigned other) {
      const LstmCase& same = call->lstm();
      call->CopyTensors({same, SeededLstmInput(same.problem, other, same.type),
                         SeededLstmGradient(same.problem, other)});
      *seed = other;
    };
  prepared.algorithm = call->Algorithm();
  prepared.isa = onednn::EffectiveIsa();
  prepared.memory = call->Memory();
  prepared.modelled =
      ModelledWork(lstm.problem, lstm.direction, type,
                   LstmMatrixPipe(type, lstm.fpmath, prepared.algorithm, prepared.isa),
                   "fp32.vector", static_cast<double>(call->Launches()));
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

LstmCall::LstmCall(const LstmCase& lstm, const LstmInput<float>& input,
                   const LstmOutput<float>& d_output)
    : lstm_(lstm) {
  RefuseWhatTheLibraryGetsWrong(lstm);
  const LstmBuilder builder(lstm_, input);
  const auto stages = LstmStages(lstm.problem);
  onednn::Translated(fmt::format("LSTM {}", lstm.type), [&] {
    std::vector<LstmBuilder::Forward> descriptors;
    for (const auto& stage : stages) {
      descriptors.push_back(builder.Describe(stage));
      forward_.push_back(builder.MakeForward(stage, descriptors.back(),
                                             forward_.empty() ? nullptr : &forward_.back()));
    }
    if (lstm_.direction != LstmDirection::kBackward) return;
    for (const auto& step : forward_) step.Run();
    for (size_t k = stages.size(); k-- > 0;)
      backward_.push_back(builder.MakeBackward(stages[k], descriptors[k], forward_[k], d_output,
                                               backward_.empty() ? nullptr : &backward_.back()));
  });
}

LstmOutput<float> LstmCall::Outputs() const {
  const LstmProblem& problem = lstm_.problem;
  LstmOutput<float> outputs;
  outputs.output = RealActivation(forward_.back().arguments.at(DNNL_ARG_DST_LAYER), problem,
                                  problem.passes == LstmPasses::kSummed ? 2 : 1);
  for (const auto& step : forward_) {
    Append(step.arguments.at(DNNL_ARG_DST_ITER), problem, outputs.final_hidden);
    Append(step.arguments.at(DNNL_ARG_DST_ITER_C), problem, outputs.final_cell);
  }
  return outputs;
}

LstmInput<float> LstmCall::Gradients() const {
  const auto stages = LstmStages(lstm_.problem);
  LstmInput<float> gradients;
  gradients.source = onednn::Plain(BackwardOf(0).arguments.at(DNNL_ARG_DIFF_SRC_LAYER));
  gradients.layers.resize(lstm_.problem.l);
  for (size_t k = 0; k < stages.size(); ++k) {
    const auto& arguments = BackwardOf(k).arguments;
    Append(arguments.at(DNNL_ARG_DIFF_SRC_ITER), lstm_.problem, gradients.initial_hidden);
    Append(arguments.at(DNNL_ARG_DIFF_SRC_ITER_C), lstm_.problem, gradients.initial_cell);
    for (const auto& [argument, gradient, tensor] : kWeights) {
      if (arguments.count(gradient) == 0) continue;
      const auto values = onednn::Plain(arguments.at(gradient));
      const auto layer = static_cast<int64_t>(values.size()) / stages[k].layers;
      for (int64_t at = 0; at < stages[k].layers; ++at)
        (gradients.layers[stages[k].first + at].*tensor)
            .assign(values.begin() + at * layer, values.begin() + (at + 1) * layer);
    }
  }
  return gradients;
}

// Clears the gradients in place, because callers of Memory() have stored their addresses.
void LstmCall::ClearWeightGradients() {
  for (auto& step : backward_)
    for (const auto& row : kWeights)
      if (const auto* found = FindValue(step.arguments, row.gradient))
        std::memset(found->get_data_handle(), 0, found->get_desc().get_size());
}

void LstmCall::CopyTensors(const LstmCall& from) {
  for (size_t k = 0; k < forward_.size(); ++k)
    onednn::CopyTensors(from.forward_[k].arguments, forward_[k].arguments);
  for (size_t k = 0; k < backward_.size(); ++k)
    onednn::CopyTensors(from.backward_[k].arguments, backward_[k].arguments);
}

std::string LstmCall::Algorithm() const {
  std::vector<std::string> names;
  for (const auto& step : Steps())
    if (std::ranges::count(names, step.implementation) == 0) names.push_back(step.implementation);
  return fmt::format("{}", fmt::join(names, " + "));
}

std::vector<workload::MemoryRegion> LstmCall::Memory() const {
  std::vector<workload::MemoryRegion> regions;
  std::unordered_set<const void*> seen;
  for (const auto& step : Steps())
    for (const auto& region : onednn::Regions(step.arguments, step.weights))
      if (seen.insert(region.begin).second) regions.push_back(region);
  return regions;
}

workload::Verification CompareWithLoops(LstmCall& call, const LstmInput<float>& input,
                                        const LstmOutput<float>& d_output) {
  if (call.lstm().direction == LstmDirection::kBackward) call.ClearWeightGradients();
  return dlroof::lstm::CompareWithLoops(call, call.lstm().problem, call.lstm().direction, input,
                                        d_output, Tolerance(call.lstm()));
}

}  // namespace dlroof::lstm
