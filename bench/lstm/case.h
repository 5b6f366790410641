// A stack of LSTM layers: the problem (text, shapes, work), the tensors of a call, their seeded
// values and comparison with expected values, the parsed benchmark name, and element types. Tensors
// are dense and row-major, with gates in the order i, f, g, o.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/suites/benchdnn.h"
#include "bench/workload/products.h"
#include "bench/workload/workload.h"
#include "counters/base/work.h"

namespace dlroof::lstm {

inline constexpr int64_t kLstmGates = 4;  // input, forget, candidate and output gate of a cell

// The passes of a layer over the time steps. A bidirectional layer has a forward and a backward
// pass. Its output is the concatenation of both ("bi": forward pass first; the next layer reads all
// of it, as in cuDNN and PyTorch) or their sum ("bisum").
enum class LstmPasses { kForward, kConcatenated, kSummed };

// The direction of a call: the fourth part of a benchmark's name. fwd_training stores the data that
// `bwd` reads; `bwd` computes the data and weight gradients of one training step.
enum class LstmDirection { kForwardInference, kForwardTraining, kBackward };

struct LstmProblem {
  int64_t t = 1;  // time steps
  int64_t n = 1;  // samples in the batch
  int64_t i = 1;  // channels of the input
  int64_t h = 1;  // hidden units: width of the cell state and of each gate
  int64_t l = 1;  // layers
  int64_t p = 0;  // width of the projected hidden state; 0: no projection
  LstmPasses passes = LstmPasses::kForward;
  // The gates also read the cell state of their unit: i and f the previous one, o the new one. An
  // option of the name, not in the problem's text.
  bool peephole = false;

  bool operator==(const LstmProblem&) const = default;
};

// Returns e.g. "t16n16i32h64l2p32bi": "l2", "p32" and "bi" or "bisum" only if not the defaults.
std::string ToText(const LstmProblem& problem);

// The inverse of ToText. Throws BadInput with the column (from 1, plus `column_offset`) of the
// first bad character, or if sizes or operation counts overflow 64 bits.
LstmProblem ParseLstmProblem(std::string_view text, int column_offset = 0);

std::string_view Key(LstmDirection direction);

int64_t Passes(const LstmProblem& problem);       // 1 or 2
int64_t StateWidth(const LstmProblem& problem);   // channels of the hidden state: p, or h if p is 0
int64_t OutputWidth(const LstmProblem& problem);  // channels of a layer's output
int64_t InputWidth(const LstmProblem& problem, int64_t layer);  // channels that `layer` reads

// Number of elements of each tensor of a call, over all layers and passes.
struct LstmElements {
  int64_t source, output;  // t x n x i, t x n x OutputWidth
  int64_t hidden, cell;    // initial (or final): l x passes x n x StateWidth, l x passes x n x h
  int64_t weights, bias;   // `weights`: of layer input, hidden state and projection
  int64_t peephole;        // l x passes x 3 x h (gates i, f, o), or 0 without peepholes
};
LstmElements Elements(const LstmProblem& problem);

// The FLOPs of one call.
//
// `matrix`: products of weights with inputs and states, 2 per multiply-add: 2*n*4h*(input + state)
// per layer, pass and step, and 2*n*h*p for a projection; twice in `bwd` (data, weight gradients).
//
// `elementwise`: 1 per add, subtraction, multiplication, sigmoid and tanh. logs::kLstmCell and
// kLstmPeephole have the number per layer, pass, step, sample and hidden unit. "bisum" adds the
// outputs of its passes: 1 per output channel of each layer. `bwd` also adds the gradients from
// above and from the next step: 1 per state channel. `bwd` does not count its forward call.
struct LstmFlops {
  int64_t matrix, elementwise;

  bool operator==(const LstmFlops&) const = default;
};
LstmFlops Flops(const LstmProblem& problem, LstmDirection direction);

// Number of elements to which one call applies each function.
struct LstmFunctions {
  int64_t sigmoids = 0, tanhs = 0;
};
LstmFunctions Functions(const LstmProblem& problem, LstmDirection direction);

// Returns the GEMMs of one call. `merged`: one GEMM computes a layer's input product for all steps
// (they are independent), and one GEMM a weight gradient; otherwise each step has its own GEMMs.
std::vector<workload::MatrixProducts> Products(const LstmProblem& problem, LstmDirection direction,
                                               bool merged);

// The element type of each tensor ("f64 f32 bf16 f16 u8 s8").
struct LstmType {
  std::string_view name;
  std::string_view benchdnn;  // the type in benchdnn's --cfg
  std::string_view source;    // input of the stack and data between layers
  std::string_view hidden;    // hidden states, initial and final
  std::string_view output;    // output of the last layer
  std::string_view weight;    // weights of layer input, hidden state, projection
  std::string_view bias, cell;
  std::string_view peephole = "f32", gradient = "f32";  // `gradient`: of every gradient
};

// Returns all types of oneDNN: "f32", "bf16" (including bias and cell states), "bf16f32" (bias and
// cell states in f32), "f16", "int8" (u8 activations, s8 weights, f32 bias and cell states) and its
// variants, spelled as in benchdnn, e.g. "f32u8f32u8": types of initial hidden state, input, final
// hidden state, output. Types with s8 instead of u8 have no shift (zero point).
const std::vector<LstmType>& LstmTypes();
std::vector<std::string> LstmTypeNames();
// Returns the type of this name. Throws std::logic_error for an unknown name.
const LstmType& LstmTypeOf(std::string_view name);
// Returns the type in which all tensors, including gradients, have this element type.
LstmType UniformLstmType(std::string_view element);
// Returns whether activations and weights are integers.
bool IsQuantized(const LstmType& type);

// Returns the compulsory DRAM bytes: each tensor of the call once. A forward call has source,
// weights (with peepholes), bias, output, and hidden and cell states in and out. `bwd` reads all of
// these and the gradients of output and final states, and writes the other gradients. The library's
// workspace and the data between layers are not tensors of the problem and not counted.
double CompulsoryBytes(const LstmProblem& problem, LstmDirection direction, const LstmType& type);

// Returns the minimum host memory for preparing a call [byte]: its tensors, an f32 copy of each,
// and the gates if stored for the backward pass.
double LeastHostBytes(const LstmProblem& problem, LstmDirection direction, const LstmType& type);

// Returns a call's work, its matrix part on `matrix_pipe` and the rest on `elementwise_pipe`.
Work ModelledWork(const LstmProblem& problem, LstmDirection direction, const LstmType& type,
                  const std::string& matrix_pipe, const std::string& elementwise_pipe,
                  double launches);

// Returns the problem if its forward matrix part has at most `most_flops` FLOPs, else a smaller
// twin. Halving reduces first the steps (down to 2), then the samples (down to 2), then the
// channels. Layers, passes and projection stay, so the smallest twin may exceed `most_flops`.
LstmProblem Twin(const LstmProblem& problem, double most_flops);

template <class T>
struct LstmLayerWeights {
  std::vector<T> input;       // [pass][input channel][gate][hidden unit]
  std::vector<T> state;       // [pass][state channel][gate][hidden unit]
  std::vector<T> projection;  // [pass][hidden unit][state channel]; empty: no projection
  std::vector<T> bias;        // [pass][gate][hidden unit]
  std::vector<T> peephole;    // [pass][gate i, f, o][hidden unit]; empty: no peepholes
};
template <class T>
inline constexpr std::array kLayerTensors = {
    &LstmLayerWeights<T>::input, &LstmLayerWeights<T>::state, &LstmLayerWeights<T>::projection,
    &LstmLayerWeights<T>::bias, &LstmLayerWeights<T>::peephole};

// Inputs of a call, or the gradients of a loss with respect to them.
template <class T>
struct LstmInput {
  std::vector<T> source;          // [step][sample][channel]
  std::vector<T> initial_hidden;  // [layer][pass][sample][state channel]
  std::vector<T> initial_cell;    // [layer][pass][sample][hidden unit]
  std::vector<LstmLayerWeights<T>> layers;
};

// Outputs of a call, or gradients of a loss for them. A final state is that after the last step.
template <class T>
struct LstmOutput {
  std::vector<T> output;        // [step][sample][output channel] of the last layer
  std::vector<T> final_hidden;  // shape of initial_hidden
  std::vector<T> final_cell;    // shape of initial_cell
};

// Calls visit(tensor of `first`, same tensor of each of `others`) for every tensor of LstmInputs.
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
template <class Visit, class... Outputs>
void ForEachOutput(Visit visit, Outputs&... outputs) {
  visit(outputs.output...);
  visit(outputs.final_hidden...);
  visit(outputs.final_cell...);
}

LstmInput<double> ToDouble(const LstmInput<float>& input);
LstmOutput<double> ToDouble(const LstmOutput<float>& output);

// Returns the scale of the quantized activations in SeededLstmInput: source and hidden states are
// multiples of 1 / scale. It is 127, or 63 for "bisum", where the library adds the stored numbers
// of the two passes and the sum must fit 8 bits.
float Int8ActivationScale(const LstmProblem& problem);
// The integer that represents the largest quantized weight. With 63 the sum of two adjacent
// products, at most 2 * 255 * 63, fits the 16 bits that implementations without VNNI use.
inline constexpr float kInt8WeightSteps = 63;
// Returns the largest quantized weight: 1 / sqrt(fewest channels that any weight tensor reads).
float Int8WeightLimit(const LstmProblem& problem);

// Returns inputs that the LstmType named `type` represents exactly. Weights are uniform within +-1
// / sqrt(number of channels that they read), others within +-1. So a gate's sum has a standard
// deviation of about 0.5 at any size: no gate saturates, every input matters, none is denormal.
LstmInput<float> SeededLstmInput(const LstmProblem& problem, uint64_t seed, std::string_view type);

// Returns seeded gradients of a loss with respect to each output, uniform within +-1 and exactly
// representable in the element type.
LstmOutput<float> SeededLstmGradient(const LstmProblem& problem, uint64_t seed,
                                     std::string_view element = "f32");

struct LstmDifference {
  double max_error = 0;  // [1] maximum of |got - expected| / the tensor's maximum |expected|
  int64_t count = 0;     // number of compared values
};
// Compare two sets of tensors. If a value is NaN or infinite, or sizes differ, max_error is the
// largest double.
LstmDifference Difference(const LstmOutput<float>& got, const LstmOutput<double>& expected);
LstmDifference Difference(const LstmInput<float>& got, const LstmInput<double>& expected);

struct LstmCase {
  LstmDirection direction = LstmDirection::kForwardInference;
  LstmProblem problem;
  std::string type = "f32";
  bool plain_weights = false;     // "ldigo": weights [layer][pass][input][gate][hidden unit]
  std::string fpmath = "strict";  // how f32 is computed; also "bf16", "f16", "tf32", "any"

  bool operator==(const LstmCase&) const = default;
};
// Parses a name of LSTM. Throws BadInput with the column, counted from the start of the full
// benchmark name, for an unknown direction, a type not in `types`, an invalid problem, and an
// option not in `options` (rows of "peephole", "ldigo" and "fpmath-bf16|f16|tf32|any").
LstmCase ReadLstmCase(const workload::BenchmarkName& name, const std::vector<std::string>& types,
                      const workload::OptionRows& options);

LstmCase ReadOnednnLstmCase(const workload::BenchmarkName& name);
// Throws Unsupported for calls that oneDNN 3.2 accepts but computes wrongly or crashes in.
void RequireOnednnLstm(const LstmCase& lstm);
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
double OnednnLstmTolerance(const LstmCase& lstm);

// Returns the pipe of the matrix part. Arguments as in workload::MatrixPipe and LstmCase::fpmath.
// `implementation`: names of all primitives, joined by " + ". An f32 LSTM has "bf16.matrix" only if
// all names contain AMX, because the library may ignore the fpmath mode.
std::string LstmMatrixPipe(const LstmType& type, std::string_view fpmath,
                           std::string_view implementation, std::string_view effective_isa);

extern const suites::BenchdnnDriver kRnnDriver;

// The consecutive layers [first, first + layers) that one oneDNN primitive computes.
struct LstmStage {
  int64_t first, layers;

  bool operator==(const LstmStage&) const = default;
};
// Returns the stages of a problem. All layers of a oneDNN primitive have the same input width, and
// it combines the two passes only after its last layer, where cuDNN and PyTorch combine them after
// every layer. Other problems need several primitives in sequence.
std::vector<LstmStage> LstmStages(const LstmProblem& problem);

// Returns benchdnn's line in the syntax of oneDNN 3.2, without default values, e.g. "--rnn --mode=P
// ... l1t16mb16sic64slc32dhc64dic64". It contains --trivial-strides=true, because by default
// benchdnn pads rows of sources and states by one element. Returns nullopt for calls that benchdnn
// lacks: several primitives, plain weights, bf16 with a projection.
std::optional<std::string> LstmBenchdnn(const LstmCase& lstm);

}  // namespace dlroof::lstm
