// A stack of LSTM layers as a problem: its text, its shapes, and what one call of it does.
//
// The tensors of an LSTM call in plain layout, their seeded values, and the comparison of two sets
// of them. All are dense, the last index runs fastest; gates are in the order i, f, g, o.
//
// A parsed LSTM benchmark name, and how its type stores each tensor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload/benchmark_name.h"
#include "bench/workload/workload.h"
#include "counters/work.h"

namespace dlroof::lstm {

inline constexpr int64_t kLstmGates = 4;  // input, forget, candidate and output gate of a cell

// Order in which a layer walks the time steps. With both passes each layer's output is their
// concatenation ("bi", forward pass first; the next layer reads all of it, as in cuDNN and PyTorch)
// or their sum ("bisum").
enum class LstmPasses { kForward, kConcatenated, kSummed };

// Direction of a call, the fourth part of a benchmark's name. Training keeps what `bwd` needs;
// `bwd` makes the data and the weight gradients of one training step.
enum class LstmDirection { kForwardInference, kForwardTraining, kBackward };

struct LstmProblem {
  int64_t t = 1;  // time steps
  int64_t n = 1;  // samples in the batch
  int64_t i = 1;  // channels of the input
  int64_t h = 1;  // hidden units: width of the cell state and of each gate
  int64_t l = 1;  // layers
  int64_t p = 0;  // width to which the hidden state is projected; 0: no projection
  LstmPasses passes = LstmPasses::kForward;
  // Gates see the cell state too, each unit its own: i and f the one before, o the new one. An
  // option of the name, not of the problem's text.
  bool peephole = false;

  bool operator==(const LstmProblem&) const = default;
};

// "t16n16i32h64", then "l2", "p32", "bi" or "bisum", each only where it is not the default.
std::string ToText(const LstmProblem& problem);

// The inverse of ToText. Throws BadInput with the column (from 1 plus `column_offset`) of the first
// bad character, or with the reason when sizes and operation counts would leave 64 bits.
LstmProblem ParseLstmProblem(std::string_view text, int column_offset = 0);

std::string_view Key(LstmDirection direction);

int64_t Passes(const LstmProblem& problem);       // 1 or 2
int64_t StateWidth(const LstmProblem& problem);   // channels of the hidden state: p, or h without
int64_t OutputWidth(const LstmProblem& problem);  // channels of a layer's output
int64_t InputWidth(const LstmProblem& problem, int64_t layer);  // channels that `layer` reads

// [1] elements of each tensor of a call, all layers and passes together.
struct LstmElements {
  int64_t source, output;  // t x n x i, t x n x OutputWidth
  int64_t hidden, cell;    // one set of states: l x passes x n x StateWidth, l x passes x n x h
  int64_t weights, bias;   // weights: of the layer input, of the hidden state, of the projection
  int64_t peephole;        // l x passes x 3 x h (gates i, f, o), or none
};
LstmElements Elements(const LstmProblem& problem);

// [flop] of one call. matrix: products of weights with inputs and states, 2 per multiply-add,
// 2*n*4h*(input + state) per layer, pass and step, and 2*n*h*p for a projection; `bwd` has each
// twice (data gradient, weight gradient).
//
// elementwise: each add, subtraction, multiplication, sigmoid and tanh counts 1. Per layer, pass,
// step and sample:
//   forward, 13 per hidden unit: 4 bias adds, 3 sigmoids and 1 tanh (gates i, f, o and candidate
//     g), c = f*c' + i*g (3), tanh(c), times o; "bisum" adds its two outputs: 1 per output channel
//     of each layer. "peephole" has 6 more per hidden unit: a product and an add for i, f and o.
//   bwd, 27 per hidden unit and 1 per state channel: gradient from above plus gradient from the
//     next step (1 per state channel); tanh(c) again (1); do (4), dc (5), di, df, dg (4 each), each
//     with the gate's own derivative s*(1-s) or 1-g*g; dc' = dc*f (1); 4 adds to the bias gradient.
//     "peephole" has 12 more per hidden unit, products with their adds: do into dc (2), di and df
//     into dc' (4), 3 peephole gradients (6). The forward call that keeps the gates is not part of
//     `bwd`.
struct LstmFlops {
  int64_t matrix, elementwise;

  bool operator==(const LstmFlops&) const = default;
};
LstmFlops Flops(const LstmProblem& problem, LstmDirection direction);

// Elements to which one call applies a function.
struct LstmFunctions {
  int64_t sigmoids = 0, tanhs = 0;
};
LstmFunctions Functions(const LstmProblem& problem, LstmDirection direction);

// `count` products of an m x k by a k x n matrix.
struct LstmProduct {
  int64_t m, n, k, count;

  bool operator==(const LstmProduct&) const = default;
};
// The products of one call. With `merged` those of a layer's inputs, which do not wait for each
// other, are one product of all steps, as are weight gradients; else each step has its own.
std::vector<LstmProduct> Products(const LstmProblem& problem, LstmDirection direction, bool merged);

// [byte] per element, as the call at hand stores each kind of tensor.
struct LstmElementBytes {
  double source, hidden, output;  // hidden: states
  double weight;
  double peephole;
  double bias;
  double cell;      // cell states
  double gradient;  // every gradient
};

// [byte] compulsory traffic with DRAM: every tensor of the call once, whole. Forward: source,
// weights (peephole too), bias, output, hidden and cell states in and out. `bwd`: all of these
// (read), and a gradient of each (those of output and final states read, the others written). A
// library's workspace and what it hands from layer to layer are its own, not tensors of the
// problem: not counted.
double CompulsoryBytes(const LstmProblem& problem, LstmDirection direction,
                       const LstmElementBytes& bytes);

// [byte] of memory below which a call cannot be prepared: its tensors, each once more as plain f32,
// and the gates where they are kept for the backward pass.
double LeastHostBytes(const LstmProblem& problem, LstmDirection direction,
                      const LstmElementBytes& bytes);

// One call's Work when the matrix part runs on `matrix_pipe` and the elementwise part on
// `elementwise_pipe`.
Work ModelledWork(const LstmProblem& problem, LstmDirection direction,
                  const LstmElementBytes& bytes, const std::string& matrix_pipe,
                  const std::string& elementwise_pipe, double launches);

// The problem itself when its forward matrix part is at most `most_flops`, else the same stack made
// smaller until it is: steps are halved down to 2, then samples down to 2, then channels. Layers,
// passes and whether there is a projection stay, so the smallest may still exceed `most_flops`.
LstmProblem Twin(const LstmProblem& problem, double most_flops);

template <class T>
struct LstmLayerWeights {
  std::vector<T> input;       // [pass][input channel][gate][hidden unit]
  std::vector<T> state;       // [pass][state channel][gate][hidden unit]
  std::vector<T> projection;  // [pass][hidden unit][state channel]; empty without
  std::vector<T> bias;        // [pass][gate][hidden unit]
  std::vector<T> peephole;    // [pass][gate i, f, o][hidden unit]; empty without
};

// Inputs of a call. The gradient of a call's loss by each of these has the same shape.
template <class T>
struct LstmInput {
  std::vector<T> source;          // [step][sample][channel]
  std::vector<T> initial_hidden;  // [layer][pass][sample][state channel]
  std::vector<T> initial_cell;    // [layer][pass][sample][hidden unit]
  std::vector<LstmLayerWeights<T>> layers;
};

// Outputs of a call. The gradient of a loss by each of these has the same shape. "Final" is
// after the step that a pass walks last.
template <class T>
struct LstmOutput {
  std::vector<T> output;        // [step][sample][output channel] of the last layer
  std::vector<T> final_hidden;  // as initial_hidden
  std::vector<T> final_cell;    // as initial_cell
};

// visit(tensor of each argument) for every tensor of LstmInputs with equally many layers.
template <class Visit, class First, class... Others>
void ForEachInput(Visit visit, First& first, Others&... others) {
  visit(first.source, others.source...);
  visit(first.initial_hidden, others.initial_hidden...);
  visit(first.initial_cell, others.initial_cell...);
  for (size_t k = 0; k < first.layers.size(); ++k) {
    visit(first.layers[k].input, others.layers[k].input...);
    visit(first.layers[k].state, others.layers[k].state...);
    visit(first.layers[k].projection, others.layers[k].projection...);
    visit(first.layers[k].bias, others.layers[k].bias...);
    visit(first.layers[k].peephole, others.layers[k].peephole...);
  }
}
// The same for every tensor of LstmOutputs.
template <class Visit, class... Outputs>
void ForEachOutput(Visit visit, Outputs&... outputs) {
  visit(outputs.output...);
  visit(outputs.final_hidden...);
  visit(outputs.final_cell...);
}

LstmInput<double> ToDouble(const LstmInput<float>& input);
LstmOutput<double> ToDouble(const LstmOutput<float>& output);

// The quantized numbers of SeededLstmInput: source and hidden states are multiples of 1 / this
// scale; 127, but 63 with "bisum", where the library adds the stored numbers of the two passes: in
// half the range their sum fits.
float Int8ActivationScale(const LstmProblem& problem);
// Weights have this many steps up to their limit: products of two neighbours, 2 * 255 * 63, fit 16
// bits, where implementations without VNNI add them (and saturate).
inline constexpr float kInt8WeightSteps = 63;
// No weight is larger: 1/sqrt(the fewest channels that any weight tensor reads).
float Int8WeightLimit(const LstmProblem& problem);

// Inputs that are exact as `type` (case.h) stores them. Weights are uniform within
// 1/sqrt(channels they read), the rest within 1, so that a gate's sum has a standard deviation of
// about 0.5 at any size: no gate saturates, every path carries signal, nothing is denormal.
LstmInput<float> SeededLstmInput(const LstmProblem& problem, uint64_t seed, std::string_view type);

// A loss gradient by every output, f32, uniform within 1.
LstmOutput<float> SeededLstmGradient(const LstmProblem& problem, uint64_t seed);

// Distance of two sets of tensors.
struct LstmDifference {
  double max_error = 0;  // [1] largest |got - expected| / largest |expected| of the same tensor
  int64_t count = 0;     // [1] values compared
};
// A value that is no number, or a tensor of another size, is an error of the largest double.
LstmDifference Difference(const LstmOutput<float>& got, const LstmOutput<double>& expected);
LstmDifference Difference(const LstmInput<float>& got, const LstmInput<double>& expected);

// The element type of each tensor ("f32 bf16 f16 u8 s8"). Peephole weights and gradients are f32 in
// every type.
struct LstmType {
  std::string_view name;
  std::string_view benchdnn;  // what benchdnn's --cfg calls the same
  std::string_view source;    // the stack's input and what one layer hands to the next
  std::string_view hidden;    // hidden states in and out
  std::string_view output;    // of the last layer
  std::string_view weight;    // of the layer input, of the hidden state, of the projection
  std::string_view bias, cell;
};

// "f32", "bf16" (bias and cell states too), "bf16f32" (these two in f32), "f16", "int8" (u8
// activations, s8 weights, f32 bias and cell states) and its relatives, spelled as benchdnn does:
// hidden state in, input, hidden state out, output ("f32u8f32u8"; s8 instead of u8 has no shift).
const std::vector<LstmType>& LstmTypes();
std::vector<std::string> LstmTypeNames();
// Throws std::logic_error for a name that is none of them.
const LstmType& LstmTypeOf(std::string_view name);

// A parsed LSTM benchmark name, without its type.
struct LstmCase {
  LstmDirection direction = LstmDirection::kForwardInference;
  LstmProblem problem;
  bool plain_weights = false;     // "ldigo": weights [layer][pass][input][gate][hidden unit]
  std::string fpmath = "strict";  // what f32 may be computed as: also "bf16", "f16", "tf32", "any"

  bool operator==(const LstmCase&) const = default;
};
// Throws BadInput (column within the whole name) for a direction that is none, a type not in
// `types`, a bad problem, or an option that is not in `options` (known are "peephole", "ldigo" and
// "fpmath-bf16|f16|tf32|any").
LstmCase ReadLstmCase(const workload::BenchmarkName& name, const std::vector<std::string>& types,
                      const workload::OptionRows& options);

// Reads a name of LSTM/cpu/onednn.
LstmCase ReadOnednnLstmCase(const workload::BenchmarkName& name);

// Returns true if activations and weights are integers.
bool IsQuantized(const LstmType& type);
LstmElementBytes ElementBytes(const LstmType& type);

// The pipe on which the matrix part runs; arguments as those of MatrixPipe (pipe_choice.h).
// `fpmath` ("strict", "bf16", "f16", "tf32", "any") is what f32 may be computed as: "bf16.matrix"
// only where the names of all primitives, joined by " + ", prove it, since the library is free to
// ignore the mode.
std::string LstmMatrixPipe(const LstmType& type, std::string_view fpmath,
                           std::string_view implementation, std::string_view effective_isa);

}  // namespace dlroof::lstm
