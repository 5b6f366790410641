// A stack of LSTM layers: the problem with its text, shapes and work; the tensors of a call, their
// seeded values, and the comparison of two sets of them; the parsed benchmark name, and the element
// types of its tensors. Tensors are dense in plain layout, with the last index running fastest and
// gates in the order i, f, g, o.
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

// The passes of a layer over the time steps. A bidirectional layer has a forward and a backward
// pass, and its output is their concatenation ("bi", forward pass first; the next layer reads all
// of it, as in cuDNN and PyTorch) or their sum ("bisum").
enum class LstmPasses { kForward, kConcatenated, kSummed };

// The direction of a call, the fourth part of a benchmark's name. fwd_training stores what `bwd`
// needs, and `bwd` computes the data and weight gradients of one training step.
enum class LstmDirection { kForwardInference, kForwardTraining, kBackward };

struct LstmProblem {
  int64_t t = 1;  // time steps
  int64_t n = 1;  // samples in the batch
  int64_t i = 1;  // channels of the input
  int64_t h = 1;  // hidden units: width of the cell state and of each gate
  int64_t l = 1;  // layers
  int64_t p = 0;  // width of the projected hidden state, 0 without a projection
  LstmPasses passes = LstmPasses::kForward;
  // The gates of each unit also read its cell state: i and f the previous one, o the new one. This
  // is an option of the name, not part of the problem's text.
  bool peephole = false;

  bool operator==(const LstmProblem&) const = default;
};

// Returns "t16n16i32h64", then "l2", "p32", and "bi" or "bisum" if they differ from the defaults.
std::string ToText(const LstmProblem& problem);

// The inverse of ToText. Throws BadInput with the column (from 1 plus `column_offset`) of the first
// bad character, or if sizes or operation counts would overflow 64 bits.
LstmProblem ParseLstmProblem(std::string_view text, int column_offset = 0);

std::string_view Key(LstmDirection direction);

int64_t Passes(const LstmProblem& problem);       // 1 or 2
int64_t StateWidth(const LstmProblem& problem);   // channels of the hidden state: p if set, else h
int64_t OutputWidth(const LstmProblem& problem);  // channels of a layer's output
int64_t InputWidth(const LstmProblem& problem, int64_t layer);  // channels that `layer` reads

// Elements of each tensor of a call, over all layers and passes [1].
struct LstmElements {
  int64_t source, output;  // t x n x i, t x n x OutputWidth
  int64_t hidden, cell;    // one set of states: l x passes x n x StateWidth, l x passes x n x h
  int64_t weights, bias;   // `weights` are of layer input, hidden state and projection
  int64_t peephole;        // l x passes x 3 x h (gates i, f, o) if the problem has peepholes
};
LstmElements Elements(const LstmProblem& problem);

// The FLOPs of one call [flop].
//
// `matrix` counts products of weights with inputs and states, 2 per multiply-add: 2*n*4h*(input +
// state) per layer, pass and step, and 2*n*h*p for a projection. `bwd` has each product twice (data
// gradient, weight gradient).
//
// `elementwise` counts 1 for each add, subtraction, multiplication, sigmoid and tanh. Per layer,
// pass, step and sample:
//   forward has 13 per hidden unit: 4 bias adds, 3 sigmoids and 1 tanh (gates i, f, o and candidate
//     g), c = f*c' + i*g (3), tanh(c), times o. "bisum" adds its two outputs, 1 per output channel
//     of each layer. "peephole" has 6 more per hidden unit: a product and an add for i, f and o.
//   bwd has 27 per hidden unit and 1 per state channel: gradient from above plus gradient from the
//     next step (1 per state channel); tanh(c) again (1); do (4), dc (5), di, df, dg (4 each), each
//     with the gate's own derivative s*(1-s) or 1-g*g; dc' = dc*f (1); 4 adds to the bias gradient.
//     "peephole" has 12 more per hidden unit, products with their adds: do into dc (2), di and df
//     into dc' (4), 3 peephole gradients (6). The forward call that stores the gates is not part of
//     `bwd`.
struct LstmFlops {
  int64_t matrix, elementwise;

  bool operator==(const LstmFlops&) const = default;
};
LstmFlops Flops(const LstmProblem& problem, LstmDirection direction);

// Elements to which one call applies a function [1].
struct LstmFunctions {
  int64_t sigmoids = 0, tanhs = 0;
};
LstmFunctions Functions(const LstmProblem& problem, LstmDirection direction);

// `count` products of an m x k by a k x n matrix.
struct LstmProduct {
  int64_t m, n, k, count;

  bool operator==(const LstmProduct&) const = default;
};
// Returns the products of one call. With `merged` the products of a layer's inputs, which are
// independent of each other, form one product over all steps, and so do weight gradients. Otherwise
// each step has its own product.
std::vector<LstmProduct> Products(const LstmProblem& problem, LstmDirection direction, bool merged);

// Bytes per element of each kind of tensor, as a call stores it [byte].
struct LstmElementBytes {
  double source, hidden, output;  // `hidden` is of hidden states
  double weight;
  double peephole;
  double bias;
  double cell;      // of cell states
  double gradient;  // of every gradient
};

// Returns the compulsory traffic with DRAM [byte]: every tensor of the call once. A forward call
// has source, weights (including peepholes), bias, output, and hidden and cell states in and out.
// `bwd` reads all of these, reads the gradients of output and final states, and writes the other
// gradients. A library's workspace and the data between layers are not tensors of the problem and
// are not counted.
double CompulsoryBytes(const LstmProblem& problem, LstmDirection direction,
                       const LstmElementBytes& bytes);

// Returns the least memory for preparing a call [byte]: its tensors, a copy of each as plain f32,
// and the gates if they are stored for the backward pass.
double LeastHostBytes(const LstmProblem& problem, LstmDirection direction,
                      const LstmElementBytes& bytes);

// Returns the work of one call whose matrix part runs on `matrix_pipe` and whose elementwise part
// runs on `elementwise_pipe`.
Work ModelledWork(const LstmProblem& problem, LstmDirection direction,
                  const LstmElementBytes& bytes, const std::string& matrix_pipe,
                  const std::string& elementwise_pipe, double launches);

// Returns a problem whose forward matrix part has at most `most_flops`: the problem itself, or a
// smaller twin of it, in which the steps are halved down to 2, then the samples down to 2, then the
// channels. Layers, passes and the presence of a projection do not change, so the smallest twin may
// still exceed `most_flops`.
LstmProblem Twin(const LstmProblem& problem, double most_flops);

template <class T>
struct LstmLayerWeights {
  std::vector<T> input;       // [pass][input channel][gate][hidden unit]
  std::vector<T> state;       // [pass][state channel][gate][hidden unit]
  std::vector<T> projection;  // [pass][hidden unit][state channel] if there is a projection
  std::vector<T> bias;        // [pass][gate][hidden unit]
  std::vector<T> peephole;    // [pass][gate i, f, o][hidden unit] if there are peepholes
};

// Inputs of a call. The gradient of a loss by each of these has the same shape.
template <class T>
struct LstmInput {
  std::vector<T> source;          // [step][sample][channel]
  std::vector<T> initial_hidden;  // [layer][pass][sample][state channel]
  std::vector<T> initial_cell;    // [layer][pass][sample][hidden unit]
  std::vector<LstmLayerWeights<T>> layers;
};

// Outputs of a call. The gradient of a loss by each of these has the same shape. Final states are
// those after the last step of a pass.
template <class T>
struct LstmOutput {
  std::vector<T> output;        // [step][sample][output channel] of the last layer
  std::vector<T> final_hidden;  // as initial_hidden
  std::vector<T> final_cell;    // as initial_cell
};

// Calls visit(tensor of each argument) for every tensor of LstmInputs with equally many layers.
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
// Does the same for every tensor of LstmOutputs.
template <class Visit, class... Outputs>
void ForEachOutput(Visit visit, Outputs&... outputs) {
  visit(outputs.output...);
  visit(outputs.final_hidden...);
  visit(outputs.final_cell...);
}

LstmInput<double> ToDouble(const LstmInput<float>& input);
LstmOutput<double> ToDouble(const LstmOutput<float>& output);

// Returns the scale of the quantized activations in SeededLstmInput: source and hidden states are
// multiples of 1 / scale. It is 127, or 63 with "bisum", because the library adds the stored
// numbers of the two passes, and this way their sum fits.
float Int8ActivationScale(const LstmProblem& problem);
// The number of steps of quantized weights up to their limit. With 63 the sum of two adjacent
// products, 2 * 255 * 63, fits 16 bits, in which implementations without VNNI add them (and would
// saturate).
inline constexpr float kInt8WeightSteps = 63;
// Returns the limit of quantized weights: 1/sqrt(the fewest channels that any weight tensor reads).
float Int8WeightLimit(const LstmProblem& problem);

// Returns inputs that are exact in `type`. Weights are uniform within 1/sqrt(the channels that they
// read), other inputs within 1, so that the sum of a gate has a standard deviation of about 0.5 at
// any size: no gate saturates, every path contributes, and nothing is denormal.
LstmInput<float> SeededLstmInput(const LstmProblem& problem, uint64_t seed, std::string_view type);

// Returns gradients of a loss by every output, in f32 and uniform within 1.
LstmOutput<float> SeededLstmGradient(const LstmProblem& problem, uint64_t seed);

// The difference of two sets of tensors.
struct LstmDifference {
  double max_error = 0;  // [1] largest |got - expected| / largest |expected| of the same tensor
  int64_t count = 0;     // [1] values compared
};
// NaN, infinity and a tensor of another size count as an error of the largest double.
LstmDifference Difference(const LstmOutput<float>& got, const LstmOutput<double>& expected);
LstmDifference Difference(const LstmInput<float>& got, const LstmInput<double>& expected);

// The element type of each tensor ("f32 bf16 f16 u8 s8"). Peephole weights and gradients are always
// f32.
struct LstmType {
  std::string_view name;
  std::string_view benchdnn;  // the same type in benchdnn's --cfg
  std::string_view source;    // the input of the stack and the data between layers
  std::string_view hidden;    // hidden states in and out
  std::string_view output;    // of the last layer
  std::string_view weight;    // weights of layer input, hidden state and projection
  std::string_view bias, cell;
};

// Returns "f32", "bf16" (including bias and cell states), "bf16f32" (bias and cell states in f32),
// "f16", "int8" (u8 activations, s8 weights, f32 bias and cell states) and its variants, spelled as
// in benchdnn: hidden state in, input, hidden state out, output ("f32u8f32u8"). Types with s8
// instead of u8 have no shift.
const std::vector<LstmType>& LstmTypes();
std::vector<std::string> LstmTypeNames();
// Throws std::logic_error for an unknown name.
const LstmType& LstmTypeOf(std::string_view name);

// A parsed LSTM benchmark name, without its type.
struct LstmCase {
  LstmDirection direction = LstmDirection::kForwardInference;
  LstmProblem problem;
  bool plain_weights = false;     // "ldigo": weights [layer][pass][input][gate][hidden unit]
  std::string fpmath = "strict";  // the type for computing f32: also "bf16", "f16", "tf32", "any"

  bool operator==(const LstmCase&) const = default;
};
// Throws BadInput (with the column in the whole name) for an unknown direction, a type that is not
// in `types`, an invalid problem, or an option that is not in `options`, which may contain
// "peephole", "ldigo" and "fpmath-bf16|f16|tf32|any".
LstmCase ReadLstmCase(const workload::BenchmarkName& name, const std::vector<std::string>& types,
                      const workload::OptionRows& options);

// Reads a name of LSTM/cpu/onednn.
LstmCase ReadOnednnLstmCase(const workload::BenchmarkName& name);

// Returns whether activations and weights are integers.
bool IsQuantized(const LstmType& type);
LstmElementBytes ElementBytes(const LstmType& type);

// Returns the pipe of the matrix part. The arguments are those of library_rules::MatrixPipe, and
// `fpmath` is LstmCase::fpmath. An f32 LSTM runs on "bf16.matrix" only if the names of all
// primitives, joined by " + ", show it, because the library may ignore the fpmath mode.
std::string LstmMatrixPipe(const LstmType& type, std::string_view fpmath,
                           std::string_view implementation, std::string_view effective_isa);

}  // namespace dlroof::lstm
