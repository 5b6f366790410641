#include "bench/lstm/case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "bench/workload/library_rules.h"
#include "bench/workload/memory.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "reporters/logs/primitive.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::lstm {
namespace {

constexpr KeyRow<LstmDirection> kDirections[] = {
    {LstmDirection::kForwardInference, "fwd_inference"},
    {LstmDirection::kForwardTraining, "fwd_training"},
    {LstmDirection::kBackward, "bwd"}};

// Throws BadInput if an upper bound of all tensor sizes [byte] and operation counts overflows 64
// bits. The largest count, of `bwd`, is t*n*l*passes*h * (16*(input + state) + 4*p + 40).
void CheckSizes(const LstmProblem& problem) {
  const int64_t widest = std::max(problem.i, OutputWidth(problem)) + StateWidth(problem) + 1;
  workload::CheckedCount({64, widest, problem.t, problem.n, problem.l, Passes(problem), problem.h},
                         "the work of this LSTM");
}

// Returns the total size of the tensors of a forward call [byte].
double CountOnce(const LstmElements& elements, const LstmType& type) {
  double sum = 0;
  for (const auto& [element, count] : {std::pair(type.source, elements.source),
                                       {type.output, elements.output},
                                       {type.hidden, 2 * elements.hidden},
                                       {type.cell, 2 * elements.cell},
                                       {type.weight, elements.weights},
                                       {type.peephole, elements.peephole},
                                       {type.bias, elements.bias}})
    sum += static_cast<double>(workload::ElementBytes(element)) * static_cast<double>(count);
  return sum;
}

// Returns the problem after one halving by Twin, or unchanged if no size can be halved.
LstmProblem Halved(LstmProblem problem) {
  const auto half = [](int64_t size) { return (size + 1) / 2; };
  if (problem.t > 2) {
    problem.t = half(problem.t);
  } else if (problem.n > 2) {
    problem.n = half(problem.n);
  } else {
    problem.i = half(problem.i);
    problem.h = half(problem.h);
    problem.p = half(problem.p);
  }
  return problem;
}

}  // namespace

std::string ToText(const LstmProblem& problem) {
  std::string text = fmt::format("t{}n{}i{}h{}", problem.t, problem.n, problem.i, problem.h);
  if (problem.l != 1) text += fmt::format("l{}", problem.l);
  if (problem.p != 0) text += fmt::format("p{}", problem.p);
  if (problem.passes == LstmPasses::kConcatenated) text += "bi";
  if (problem.passes == LstmPasses::kSummed) text += "bisum";
  return text;
}

LstmProblem ParseLstmProblem(std::string_view text, int column_offset) {
  workload::TextCursor cursor(text, column_offset);
  LstmProblem problem;
  cursor.Expect("t");
  problem.t = cursor.Integer(1, "time steps");
  cursor.Expect("n");
  problem.n = cursor.Integer(1, "batch size");
  cursor.Expect("i");
  problem.i = cursor.Integer(1, "input channels");
  cursor.Expect("h");
  problem.h = cursor.Integer(1, "hidden units");
  if (cursor.Accept("l")) problem.l = cursor.Integer(2, "layers (1 is left out)");
  if (cursor.Accept("p")) problem.p = cursor.Integer(1, "projection size");
  if (cursor.Accept("bisum"))
    problem.passes = LstmPasses::kSummed;
  else if (cursor.Accept("bi"))
    problem.passes = LstmPasses::kConcatenated;
  if (!cursor.AtEnd()) cursor.Refuse("l, p, bi or bisum (in this order) or the end");
  CheckSizes(problem);
  return problem;
}

std::string_view Key(LstmDirection direction) { return KeyIn(kDirections, direction); }

int64_t Passes(const LstmProblem& problem) {
  return problem.passes == LstmPasses::kForward ? 1 : 2;
}

int64_t StateWidth(const LstmProblem& problem) { return problem.p != 0 ? problem.p : problem.h; }

int64_t OutputWidth(const LstmProblem& problem) {
  return StateWidth(problem) * (problem.passes == LstmPasses::kConcatenated ? 2 : 1);
}

int64_t InputWidth(const LstmProblem& problem, int64_t layer) {
  return layer == 0 ? problem.i : OutputWidth(problem);
}

LstmElements Elements(const LstmProblem& problem) {
  const int64_t cells = problem.l * Passes(problem);
  const int64_t state = StateWidth(problem);
  LstmElements elements{};
  elements.source = problem.t * problem.n * problem.i;
  elements.output = problem.t * problem.n * OutputWidth(problem);
  elements.hidden = cells * problem.n * state;
  elements.cell = cells * problem.n * problem.h;
  const int64_t inputs = problem.i + (problem.l - 1) * OutputWidth(problem);
  elements.weights = Passes(problem) * inputs * kLstmGates * problem.h +
                     cells * (state * kLstmGates * problem.h + problem.h * problem.p);
  elements.bias = cells * kLstmGates * problem.h;
  elements.peephole = problem.peephole ? cells * 3 * problem.h : 0;
  return elements;
}

// The backward pass reads the stored gates and recomputes only tanh(c).
LstmFunctions Functions(const LstmProblem& problem, LstmDirection direction) {
  const int64_t units = problem.t * problem.n * problem.l * Passes(problem) * problem.h;
  if (direction == LstmDirection::kBackward) return {0, units};
  return {3 * units, 2 * units};
}

std::vector<workload::MatrixProducts> Products(const LstmProblem& problem, LstmDirection direction,
                                               bool merged) {
  const auto& [t, n, i, h, l, p, passes, peephole] = problem;
  const int64_t gates = kLstmGates * h, state = StateWidth(problem);
  const int64_t rows = merged ? t * n : n, steps = merged ? 1 : t;
  const bool backward = direction == LstmDirection::kBackward;
  std::vector<workload::MatrixProducts> products;
  const auto add = [&](bool wanted, const std::vector<workload::MatrixProducts>& more) {
    if (wanted) products.insert(products.end(), more.begin(), more.end());
  };
  for (int64_t layer = 0; layer < l; ++layer) {
    const int64_t input = InputWidth(problem, layer);
    add(!backward, {{rows, gates, input, steps}, {n, gates, state, t}});
    add(!backward && p != 0, {{n, p, h, t}});
    add(backward, {{rows, input, gates, steps},
                   {n, state, gates, t},
                   {input, gates, rows, steps},
                   {state, gates, rows, steps}});
    add(backward && p != 0, {{n, h, p, t}, {h, p, n, t}});
  }
  for (auto& product : products) product.count *= Passes(problem);
  return products;
}

LstmFlops Flops(const LstmProblem& problem, LstmDirection direction) {
  const bool backward = direction == LstmDirection::kBackward;
  const LstmElements elements = Elements(problem);
  const int64_t samples = problem.t * problem.n;
  const int64_t cells = samples * problem.l * Passes(problem);
  auto cell = logs::kLstmCell;
  if (problem.peephole) {
    cell.forward += logs::kLstmPeephole.forward;
    cell.backward += logs::kLstmPeephole.backward;
  }
  const bool summed = problem.passes == LstmPasses::kSummed;
  const auto call = logs::FlopsOfRecurrent(
      {.weights = static_cast<double>(elements.weights),
       .samples = static_cast<double>(samples),
       .cells = static_cast<double>(cells),
       .hidden = static_cast<double>(problem.h),
       .state = static_cast<double>(StateWidth(problem)),
       .summed = summed ? static_cast<double>(samples * problem.l * OutputWidth(problem)) : 0},
      cell, backward);
  return {static_cast<int64_t>(call.matrix), static_cast<int64_t>(call.elementwise)};
}

double CompulsoryBytes(const LstmProblem& problem, LstmDirection direction, const LstmType& type) {
  const LstmElements elements = Elements(problem);
  const double tensors = CountOnce(elements, type);
  if (direction != LstmDirection::kBackward) return tensors;
  return tensors + CountOnce(elements, UniformLstmType(type.gradient));
}

double LeastHostBytes(const LstmProblem& problem, LstmDirection direction, const LstmType& type) {
  const double tensors = CompulsoryBytes(problem, direction, type) +
                         CompulsoryBytes(problem, direction, UniformLstmType("f32"));
  if (direction == LstmDirection::kForwardInference) return tensors;
  const int64_t gates =
      problem.t * problem.n * problem.l * Passes(problem) * kLstmGates * problem.h;
  return tensors + static_cast<double>(workload::ElementBytes(type.hidden) * gates);
}

Work ModelledWork(const LstmProblem& problem, LstmDirection direction, const LstmType& type,
                  const std::string& matrix_pipe, const std::string& elementwise_pipe,
                  double launches) {
  const LstmFlops flops = Flops(problem, direction);
  const auto matrix = static_cast<double>(flops.matrix);
  const auto elementwise = static_cast<double>(flops.elementwise);
  Work work;
  work.flops[matrix_pipe] += matrix;
  work.flops[elementwise_pipe] += elementwise;
  work.parts = {{"matrix", matrix}, {"elementwise", elementwise}};
  work.bytes[Level::kDram] = CompulsoryBytes(problem, direction, type);
  work.launches = launches;
  return work;
}

LstmProblem Twin(const LstmProblem& problem, double most_flops) {
  LstmProblem twin = problem;
  while (static_cast<double>(Flops(twin, LstmDirection::kForwardInference).matrix) > most_flops) {
    const LstmProblem smaller = Halved(twin);
    if (smaller == twin) break;
    twin = smaller;
  }
  return twin;
}

namespace {

void Convert(const std::vector<float>& from, std::vector<double>& to) {
  to.assign(from.begin(), from.end());
}

class ValueSource {
 public:
  explicit ValueSource(uint64_t seed) : seed_(seed << 20U) {}

  std::vector<float> Next(int64_t count, std::string_view type, double limit) {
    const auto high = static_cast<float>(limit);
    return workload::SeededValues(count, seed_++, type, -high, high);
  }

 private:
  uint64_t seed_;
};

void RoundToMultiples(double scale, std::vector<float>& values) {
  for (float& value : values) value = static_cast<float>(std::round(value * scale) / scale);
}

void Quantize(const LstmProblem& problem, LstmInput<float>& input) {
  const double weight_scale = double{kInt8WeightSteps / Int8WeightLimit(problem)};
  const double activation_scale = Int8ActivationScale(problem);
  RoundToMultiples(activation_scale, input.source);
  RoundToMultiples(activation_scale, input.initial_hidden);
  for (auto& layer : input.layers)
    for (auto* weights : {&layer.input, &layer.state, &layer.projection})
      RoundToMultiples(weight_scale, *weights);
}

void Add(const std::vector<float>& got, const std::vector<double>& expected,
         LstmDifference& difference) {
  constexpr double kNotComparable = std::numeric_limits<double>::max();
  difference.count += static_cast<int64_t>(expected.size());
  if (got.size() != expected.size()) {
    difference.max_error = kNotComparable;
    return;
  }
  double scale = 0;
  for (const double value : expected) scale = std::max(scale, std::abs(value));
  if (scale == 0) scale = 1;
  for (size_t k = 0; k < got.size(); ++k) {
    const double error = std::abs(double{got[k]} - expected[k]) / scale;
    difference.max_error =
        std::max(difference.max_error, std::isfinite(error) ? error : kNotComparable);
  }
}

}  // namespace

LstmInput<double> ToDouble(const LstmInput<float>& input) {
  LstmInput<double> result;
  result.layers.resize(input.layers.size());
  ForEachInput(Convert, input, result);
  return result;
}

LstmOutput<double> ToDouble(const LstmOutput<float>& output) {
  LstmOutput<double> result;
  ForEachOutput(Convert, output, result);
  return result;
}

float Int8ActivationScale(const LstmProblem& problem) {
  return problem.passes == LstmPasses::kSummed ? 63 : 127;
}

float Int8WeightLimit(const LstmProblem& problem) {
  int64_t fewest = std::min(problem.i, StateWidth(problem));
  if (problem.p != 0) fewest = std::min(fewest, problem.h);
  return 1 / std::sqrt(static_cast<float>(fewest));
}

LstmInput<float> SeededLstmInput(const LstmProblem& problem, uint64_t seed,
                                 std::string_view type_name) {
  const LstmType& type = LstmTypeOf(type_name);
  const LstmElements elements = Elements(problem);
  const int64_t gates = 4 * problem.h, state = StateWidth(problem), passes = Passes(problem);
  const bool quantized = IsQuantized(type);
  // Quantized values are generated as real numbers and rounded to the nearest stored value.
  const auto drawn_as = [&](std::string_view stored) { return quantized ? "f32" : stored; };
  ValueSource values(seed);
  const auto weights = [&](int64_t rows, int64_t columns) {
    return values.Next(passes * rows * columns, drawn_as(type.weight),
                       1 / std::sqrt(static_cast<double>(rows)));
  };
  LstmInput<float> input;
  input.source = values.Next(elements.source, drawn_as(type.source), 1);
  input.initial_hidden = values.Next(elements.hidden, drawn_as(type.hidden), 1);
  input.initial_cell = values.Next(elements.cell, type.cell, 1);
  input.layers.resize(problem.l);
  for (int64_t layer = 0; layer < problem.l; ++layer) {
    auto& tensors = input.layers[layer];
    tensors.input = weights(InputWidth(problem, layer), gates);
    tensors.state = weights(state, gates);
    if (problem.p != 0) tensors.projection = weights(problem.h, problem.p);
    tensors.bias = values.Next(passes * gates, type.bias, 1);
    if (problem.peephole) tensors.peephole = values.Next(passes * 3 * problem.h, "f32", 1);
  }
  if (quantized) Quantize(problem, input);
  return input;
}

LstmOutput<float> SeededLstmGradient(const LstmProblem& problem, uint64_t seed,
                                     std::string_view element) {
  const LstmElements elements = Elements(problem);
  ValueSource values(seed ^ 0x67726164ULL);
  LstmOutput<float> gradient;
  gradient.output = values.Next(elements.output, element, 1);
  gradient.final_hidden = values.Next(elements.hidden, element, 1);
  gradient.final_cell = values.Next(elements.cell, element, 1);
  return gradient;
}

LstmDifference Difference(const LstmOutput<float>& got, const LstmOutput<double>& expected) {
  LstmDifference difference;
  ForEachOutput([&](const auto& a, const auto& b) { Add(a, b, difference); }, got, expected);
  return difference;
}

LstmDifference Difference(const LstmInput<float>& got, const LstmInput<double>& expected) {
  LstmDifference difference;
  if (got.layers.size() != expected.layers.size()) {
    difference.max_error = std::numeric_limits<double>::max();
    return difference;
  }
  ForEachInput([&](const auto& a, const auto& b) { Add(a, b, difference); }, got, expected);
  return difference;
}

namespace {

LstmDirection ParseDirection(const workload::BenchmarkName& name) {
  if (const auto direction = ValueIn(kDirections, name.direction)) return *direction;
  throw BadInput({.column = workload::ColumnOfPart(name, 3)},
                 "an LSTM has no direction '{}'; expected fwd_inference, fwd_training or bwd",
                 name.direction);
}

// Returns whether all names (joined by " + ") are of AMX kernels, e.g. "brgemm:avx512_core_amx" or,
// since oneDNN 3.13, "brgemm:avx10_1_512_amx". Then all kernels of an f32 LSTM multiply bf16 tiles,
// because AMX has no f32 product.
bool AllOnAmx(std::string_view implementation) {
  return std::ranges::all_of(logs::SplitText(implementation, '+'), [](std::string_view name) {
    return name.find("brgemm") == name.find_first_not_of(' ') &&
           name.find("amx") != std::string_view::npos;
  });
}

}  // namespace

const std::vector<LstmType>& LstmTypes() {
  static const std::vector<LstmType> types = {
      {"f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32"},
      {"bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16"},
      {"bf16f32", "bf16f32", "bf16", "bf16", "bf16", "bf16", "f32", "f32"},
      {"f16", "f16", "f16", "f16", "f16", "f16", "f16", "f16"},
      {"int8", "u8u8u8u8", "u8", "u8", "u8", "s8", "f32", "f32"},
      {"u8u8u8f32", "u8u8u8f32", "u8", "u8", "f32", "s8", "f32", "f32"},
      {"f32u8f32u8", "f32u8f32u8", "u8", "f32", "u8", "s8", "f32", "f32"},
      {"f32u8f32f32", "f32u8f32f32", "u8", "f32", "f32", "s8", "f32", "f32"},
      {"s8s8s8s8", "s8s8s8s8", "s8", "s8", "s8", "s8", "f32", "f32"},
      {"s8s8s8f32", "s8s8s8f32", "s8", "s8", "f32", "s8", "f32", "f32"},
      {"f32s8f32s8", "f32s8f32s8", "s8", "f32", "s8", "s8", "f32", "f32"},
      {"f32s8f32f32", "f32s8f32f32", "s8", "f32", "f32", "s8", "f32", "f32"}};
  return types;
}

std::vector<std::string> LstmTypeNames() {
  return VectorOf<std::string>(LstmTypes(), [](const auto& type) { return type.name; });
}

const LstmType& LstmTypeOf(std::string_view name) {
  for (const auto& type : LstmTypes())
    if (type.name == name) return type;
  throw std::logic_error(fmt::format("an LSTM has no type {}", name));
}

LstmCase ReadLstmCase(const workload::BenchmarkName& name, const std::vector<std::string>& types,
                      const workload::OptionRows& options) {
  LstmCase lstm{.direction = ParseDirection(name), .type = name.type};
  if (std::ranges::count(types, name.type) == 0)
    throw BadInput({.column = workload::ColumnOfPart(name, 4)},
                   "LSTM/{}/{} has no type '{}'; it has {}", name.device, name.library, name.type,
                   fmt::join(types, ", "));
  lstm.problem = ParseLstmProblem(name.problem, workload::ColumnOfPart(name, 5) - 1);
  workload::CheckOptions(name, options);
  lstm.problem.peephole = workload::HasOption(name, "peephole");
  lstm.plain_weights = workload::HasOption(name, "ldigo");
  lstm.fpmath = workload::FpmathOf(name).value_or(lstm.fpmath);
  return lstm;
}

LstmCase ReadOnednnLstmCase(const workload::BenchmarkName& name) {
  return ReadLstmCase(name, LstmTypeNames(), {{"peephole"}, {"ldigo"}, workload::FpmathOptions()});
}

void RequireOnednnLstm(const LstmCase& lstm) {
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

double OnednnLstmTolerance(const LstmCase& lstm) {
  const double terms = static_cast<double>(lstm.problem.t * lstm.problem.n);
  const double growth = std::sqrt(std::max(1.0, terms / 2048));
  if (IsQuantized(LstmTypeOf(lstm.type))) return 0.1;
  return (lstm.type == "f32" && lstm.fpmath == "strict" ? 1e-5 : 0.02) * growth;
}

bool IsQuantized(const LstmType& type) { return type.weight == "s8"; }

LstmType UniformLstmType(std::string_view e) { return {e, e, e, e, e, e, e, e, e, e}; }

std::string LstmMatrixPipe(const LstmType& type, std::string_view fpmath,
                           std::string_view implementation, std::string_view effective_isa) {
  const bool may_be_bf16 = fpmath == "bf16" || fpmath == "any";
  if (type.weight == "f32" && may_be_bf16 && AllOnAmx(implementation)) return "bf16.matrix";
  return workload::MatrixPipe(IsQuantized(type) ? "int8" : type.weight, implementation,
                              effective_isa);
}

namespace {

[[maybe_unused]] const bool op_registered = workload::RegisterOp(
    {.name = "LSTM",
     .words =
         {"LSTM",
          {{"batch", "n"}, {"steps", "t"}, {"features", "i"}, {"hidden", "h"}, {"layers", "l"}}},
     .flop_convention = "matrix products and elementwise part apart; each sigmoid, tanh, add and "
                        "multiply of the elementwise part counts 1",
     .benchdnn = {&kRnnDriver},
     .directions = {"fwd_inference", "fwd_training", "bwd"},
     .templates = "LSTM/cpu/onednn/{fwd_inference,fwd_training,bwd}/{f32,bf16}/*\n",
     .with_batch = workload::WithBatch("n", ParseLstmProblem),
     .named_flops =
         [](const record::Record& record) {
           const auto direction = ValueIn(kDirections, record.direction);
           if (!direction) throw BadInput("no direction of an LSTM");
           return static_cast<double>(Flops(ParseLstmProblem(record.problem), *direction).matrix);
         },
     .variants = {{"layout", {"ldigo"}, "plain weights"},
                  {"algorithm",
                   {"persist-static", "persist-small-h", "persist-dynamic"},
                   "recurrent weights stay in registers; fewer launches"}}});

workload::Workload Read(const workload::BenchmarkName& name) {
  return {.repro = LstmBenchdnn(ReadOnednnLstmCase(name))};
}

[[maybe_unused]] const bool on_onednn =
    workload::RegisterBackend({"LSTM", "cpu", "onednn", Read, "oneDNN 3.2 or newer"});

}  // namespace
}  // namespace dlroof::lstm
