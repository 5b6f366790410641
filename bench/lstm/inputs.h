// The tensors of an LSTM call in plain layout, their seeded values, and the comparison of two sets
// of them. All are dense, the last index runs fastest; gates are in the order i, f, g, o.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/lstm/problem.h"

namespace dlroof::lstm {

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

}  // namespace dlroof::lstm
