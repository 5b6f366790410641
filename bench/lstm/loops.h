// The reference loops of an LSTM stack for any number type. They define the correct results. Tests
// run them with a number type that counts operations, to verify the FLOPs of case.h.
//
// One LSTM cell (gate order i, f, g, o; g is the candidate) reads the layer's input x and the
// states h' and c' of the previous step:
//   i, f, o = sigmoid(W x + U h' + b), g = tanh(W x + U h' + b)
//   c = f*c' + i*g,  h = o*tanh(c),  with a projection h = P (o*tanh(c))
// Peepholes add p c' inside the sigmoids of i and f, and p c inside that of o, with one weight p
// per unit and gate. The backward pass of a bidirectional layer runs from the last step to the
// first, starting from its own initial states.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "bench/lstm/case.h"
#include "bench/workload/workload.h"

namespace dlroof::lstm {

// Results of one pass of one layer, stored for the backward call.
template <class T>
struct LstmStoredPass {
  std::vector<T> gates;          // [step][sample][gate][hidden unit], activated
  std::vector<T> cell, exposed;  // [step][sample][hidden unit]; exposed = o*tanh(c)
  std::vector<T> hidden;         // [step][sample][state channel]
};

template <class T>
struct LstmStoredLayer {
  std::vector<LstmStoredPass<T>> passes;
  std::vector<T> output;  // [step][sample][output channel]
};

template <class T>
struct LstmForwardResult {
  LstmOutput<T> outputs;
  std::vector<LstmStoredLayer<T>> stored;
};

namespace lstm_reference {

inline double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double Tanh(double x) { return std::tanh(x); }

// All multiply-adds of the matrix part call this function. A number type that counts operations
// overloads it, to count them separately from the elementwise part.
template <class T>
void MultiplyAdd(T& sum, const T& a, const T& b) {
  sum = sum + a * b;
}

// sum[column] += x[row] * w[row][column]
template <class T>
void AddProduct(T* sum, const T* x, const T* w, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      MultiplyAdd(sum[column], x[row], w[row * columns + column]);
}

// sum[row] += w[row][column] * y[column]
template <class T>
void AddTransposedProduct(T* sum, const T* y, const T* w, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      MultiplyAdd(sum[row], w[row * columns + column], y[column]);
}

// sum[row][column] += x[row] * y[column]
template <class T>
void AddOuterProduct(T* sum, const T* x, const T* y, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      MultiplyAdd(sum[row * columns + column], x[row], y[column]);
}

// Sizes of a layer's pass. If `reversed`, it walks from the last time step to the first.
struct PassShape {
  int64_t steps, samples, input, state, hidden, projection;
  bool peephole, reversed;

  int64_t Step(int64_t walked) const { return reversed ? steps - 1 - walked : walked; }
};

inline PassShape ShapeOf(const LstmProblem& problem, int64_t layer, int64_t pass) {
  return {problem.t, problem.n, InputWidth(problem, layer), StateWidth(problem),
          problem.h, problem.p, problem.peephole,           pass == 1};
}

// Pointers into the layer's tensors: the weights of one pass, or their gradients.
template <class T>
struct PassWeights {
  T *input, *state, *projection, *bias;
  T* peephole;  // null if there are no peepholes
};
template <class T, class Layer>
PassWeights<T> WeightsOf(Layer& layer, const PassShape& s, int64_t pass) {
  const int64_t gates = 4 * s.hidden;
  return {layer.input.data() + pass * s.input * gates, layer.state.data() + pass * s.state * gates,
          layer.projection.data() + pass * s.hidden * s.projection,
          layer.bias.data() + pass * gates,
          s.peephole ? layer.peephole.data() + pass * 3 * s.hidden : nullptr};
}

// Adds peepholes and bias to the pre-activations in `gates`, activates the gates, and computes one
// sample's cell state c and exposed = o*tanh(c), the hidden state before the projection.
template <class T>
void CellForward(int64_t hidden, const PassWeights<const T>& w, const T* cell_before, T* gates,
                 T* cell, T* exposed) {
  for (int64_t u = 0; u < hidden; ++u) {
    T &i = gates[u], &f = gates[hidden + u], &g = gates[2 * hidden + u], &o = gates[3 * hidden + u];
    if (w.peephole != nullptr) {
      i = i + w.peephole[u] * cell_before[u];
      f = f + w.peephole[hidden + u] * cell_before[u];
    }
    i = Sigmoid(i + w.bias[u]);
    f = Sigmoid(f + w.bias[hidden + u]);
    g = Tanh(g + w.bias[2 * hidden + u]);
    cell[u] = f * cell_before[u] + i * g;
    if (w.peephole != nullptr) o = o + w.peephole[2 * hidden + u] * cell[u];
    o = Sigmoid(o + w.bias[3 * hidden + u]);
    exposed[u] = o * Tanh(cell[u]);
  }
}

// What a step of one sample reads: the layer's input, and states before the step. `at`: its row.
template <class T>
struct StepRow {
  int64_t at;
  const T *x, *hidden_before, *cell_before;
};

// Returns what the pass's step number `walked` reads. The states before the first step are the
// initial states; the states before other steps are in `stored`.
template <class T>
StepRow<T> RowOf(const PassShape& s, const LstmStoredPass<T>& stored, const T* x,
                 const T* initial_hidden, const T* initial_cell, int64_t walked, int64_t sample) {
  const int64_t at = s.Step(walked) * s.samples + sample;
  if (walked == 0)
    return {at, x + at * s.input, initial_hidden + sample * s.state,
            initial_cell + sample * s.hidden};
  const int64_t before = s.Step(walked - 1) * s.samples + sample;
  return {at, x + at * s.input, stored.hidden.data() + before * s.state,
          stored.cell.data() + before * s.hidden};
}

template <class T>
void StepForward(const PassShape& s, const PassWeights<const T>& w, const StepRow<T>& row,
                 LstmStoredPass<T>& stored) {
  T* gates = stored.gates.data() + row.at * 4 * s.hidden;
  T* exposed = stored.exposed.data() + row.at * s.hidden;
  T* hidden = stored.hidden.data() + row.at * s.state;
  AddProduct(gates, row.x, w.input, s.input, 4 * s.hidden);
  AddProduct(gates, row.hidden_before, w.state, s.state, 4 * s.hidden);
  CellForward(s.hidden, w, row.cell_before, gates, stored.cell.data() + row.at * s.hidden, exposed);
  if (s.projection != 0)
    AddProduct(hidden, exposed, w.projection, s.hidden, s.projection);
  else
    std::copy(exposed, exposed + s.hidden, hidden);
}

template <class T>
void PassForward(const PassShape& s, const PassWeights<const T>& w, const T* x,
                 const T* initial_hidden, const T* initial_cell, LstmStoredPass<T>& stored) {
  const int64_t rows = s.steps * s.samples;
  stored.gates.assign(rows * 4 * s.hidden, T(0));
  stored.cell.assign(rows * s.hidden, T(0));
  stored.exposed.assign(rows * s.hidden, T(0));
  stored.hidden.assign(rows * s.state, T(0));
  for (int64_t walked = 0; walked < s.steps; ++walked)
    for (int64_t sample = 0; sample < s.samples; ++sample)
      StepForward(s, w, RowOf(s, stored, x, initial_hidden, initial_cell, walked, sample), stored);
}

// Concatenates or adds the hidden states of the passes to form the layer's output.
template <class T>
void JoinPasses(const LstmProblem& problem, LstmStoredLayer<T>& layer) {
  const int64_t state = StateWidth(problem), width = OutputWidth(problem);
  layer.output.assign(problem.t * problem.n * width, T(0));
  for (int64_t row = 0; row < problem.t * problem.n; ++row)
    for (int64_t k = 0; k < state; ++k) {
      const auto hidden = [&](int64_t pass) { return layer.passes[pass].hidden[row * state + k]; };
      T* out = layer.output.data() + row * width + k;
      *out = problem.passes == LstmPasses::kSummed ? hidden(0) + hidden(1) : hidden(0);
      if (problem.passes == LstmPasses::kConcatenated) out[state] = hidden(1);
    }
}

// Computes the gradients `d_gates` of one sample's pre-activations, and adds those of biases and
// peepholes to `d_w`. `exposed`: gradient of o*tanh(c). `cell`: gradient of this step's cell state;
// replaced by that of the previous step's.
template <class T>
void CellBackward(int64_t hidden, const PassWeights<const T>& w, const T* gates, const T* cell_now,
                  const T* cell_before, const T* exposed, T* cell, T* d_gates,
                  const PassWeights<T>& d_w) {
  const T identity(1);
  for (int64_t u = 0; u < hidden; ++u) {
    const T &i = gates[u], &f = gates[hidden + u], &g = gates[2 * hidden + u],
            &o = gates[3 * hidden + u];
    T &d_i = d_gates[u], &d_f = d_gates[hidden + u], &d_o = d_gates[3 * hidden + u];
    const T squashed = Tanh(cell_now[u]);
    d_o = exposed[u] * squashed * (o * (identity - o));
    T d_cell = cell[u] + exposed[u] * o * (identity - squashed * squashed);
    if (w.peephole != nullptr) d_cell = d_cell + d_o * w.peephole[2 * hidden + u];
    d_i = d_cell * g * (i * (identity - i));
    d_f = d_cell * cell_before[u] * (f * (identity - f));
    d_gates[2 * hidden + u] = d_cell * i * (identity - g * g);
    cell[u] = d_cell * f;
    if (w.peephole != nullptr) {
      cell[u] = cell[u] + d_i * w.peephole[u] + d_f * w.peephole[hidden + u];
      T *d_p = d_w.peephole + u, *d_p_f = d_p + hidden, *d_p_o = d_p_f + hidden;
      *d_p = *d_p + d_i * cell_before[u];
      *d_p_f = *d_p_f + d_f * cell_before[u];
      *d_p_o = *d_p_o + d_o * cell_now[u];
    }
    for (int64_t gate = 0; gate < 4; ++gate)
      d_w.bias[gate * hidden + u] = d_w.bias[gate * hidden + u] + d_gates[gate * hidden + u];
  }
}

template <class T>
void StepBackward(const PassShape& s, const PassWeights<const T>& w, const PassWeights<T>& d_w,
                  const LstmStoredPass<T>& stored, const StepRow<T>& row, const T* d_output, T* d_x,
                  T* d_hidden, T* d_cell) {
  const T* exposed = stored.exposed.data() + row.at * s.hidden;
  for (int64_t k = 0; k < s.state; ++k) d_hidden[k] = d_hidden[k] + d_output[k];
  std::vector<T> d_exposed(d_hidden, d_hidden + s.state);
  if (s.projection != 0) {
    d_exposed.assign(s.hidden, T(0));
    AddTransposedProduct(d_exposed.data(), d_hidden, w.projection, s.hidden, s.projection);
    AddOuterProduct(d_w.projection, exposed, d_hidden, s.hidden, s.projection);
  }
  std::vector<T> d_gates(4 * s.hidden, T(0));
  CellBackward(s.hidden, w, stored.gates.data() + row.at * 4 * s.hidden,
               stored.cell.data() + row.at * s.hidden, row.cell_before, d_exposed.data(), d_cell,
               d_gates.data(), d_w);
  std::fill(d_hidden, d_hidden + s.state, T(0));
  AddTransposedProduct(d_x, d_gates.data(), w.input, s.input, 4 * s.hidden);
  AddTransposedProduct(d_hidden, d_gates.data(), w.state, s.state, 4 * s.hidden);
  AddOuterProduct(d_w.input, row.x, d_gates.data(), s.input, 4 * s.hidden);
  AddOuterProduct(d_w.state, row.hidden_before, d_gates.data(), s.state, 4 * s.hidden);
}

// Adds the gradients of a pass's weights to `d_w`, and that of the layer's input to `d_x`.
// `d_hidden`, `d_cell`: on entry gradients of the final states, on return of the initial states.
// `d_output` has rows of `d_stride` channels, of which the first `s.state` belong to this pass.
template <class T>
void PassBackward(const PassShape& s, const PassWeights<const T>& w, const PassWeights<T>& d_w,
                  const LstmStoredPass<T>& stored, const T* x, const T* initial_hidden,
                  const T* initial_cell, const T* d_output, int64_t d_stride, T* d_x, T* d_hidden,
                  T* d_cell) {
  for (int64_t walked = s.steps - 1; walked >= 0; --walked)
    for (int64_t sample = 0; sample < s.samples; ++sample) {
      const auto row = RowOf(s, stored, x, initial_hidden, initial_cell, walked, sample);
      StepBackward(s, w, d_w, stored, row, d_output + row.at * d_stride, d_x + row.at * s.input,
                   d_hidden + sample * s.state, d_cell + sample * s.hidden);
    }
}

}  // namespace lstm_reference

// Runs a forward call. Stores all outputs and the data for the backward call in `result`.
template <class T>
void LstmForward(const LstmProblem& problem, const LstmInput<T>& input,
                 LstmForwardResult<T>& result) {
  using namespace lstm_reference;
  const int64_t states = problem.n * StateWidth(problem), cells = problem.n * problem.h;
  const int64_t last = (problem.t - 1) * problem.n;
  auto& final_hidden = result.outputs.final_hidden;
  auto& final_cell = result.outputs.final_cell;
  final_hidden.clear();
  final_cell.clear();
  result.stored.resize(problem.l);
  for (int64_t layer = 0; layer < problem.l; ++layer) {
    const T* x = layer == 0 ? input.source.data() : result.stored[layer - 1].output.data();
    result.stored[layer].passes.resize(Passes(problem));
    for (int64_t pass = 0; pass < Passes(problem); ++pass) {
      const PassShape s = ShapeOf(problem, layer, pass);
      const int64_t state = layer * Passes(problem) + pass;
      auto& stored = result.stored[layer].passes[pass];
      PassForward<T>(s, WeightsOf<const T>(input.layers[layer], s, pass), x,
                     input.initial_hidden.data() + state * states,
                     input.initial_cell.data() + state * cells, stored);
      const int64_t end = pass == 1 ? 0 : last;
      final_hidden.insert(final_hidden.end(), stored.hidden.begin() + end * s.state,
                          stored.hidden.begin() + end * s.state + states);
      final_cell.insert(final_cell.end(), stored.cell.begin() + end * s.hidden,
                        stored.cell.begin() + end * s.hidden + cells);
    }
    JoinPasses(problem, result.stored[layer]);
  }
  result.outputs.output = result.stored.back().output;
}

// Computes the gradients `d_input` of a loss with respect to each input, given its gradients
// `d_output` with respect to each output of `forward`. Gradients are set to zero first.
template <class T>
void LstmBackward(const LstmProblem& problem, const LstmInput<T>& input,
                  const LstmForwardResult<T>& forward, const LstmOutput<T>& d_output,
                  LstmInput<T>& d_input) {
  using namespace lstm_reference;
  const int64_t states = problem.n * StateWidth(problem), cells = problem.n * problem.h;
  d_input.initial_hidden = d_output.final_hidden;
  d_input.initial_cell = d_output.final_cell;
  d_input.layers.resize(problem.l);
  std::vector<T> d_above = d_output.output;
  for (int64_t layer = problem.l - 1; layer >= 0; --layer) {
    const std::vector<T>& x = layer == 0 ? input.source : forward.stored[layer - 1].output;
    const auto& weights = input.layers[layer];
    auto& d_weights = d_input.layers[layer];
    for (const auto tensor : kLayerTensors<T>)
      (d_weights.*tensor).assign((weights.*tensor).size(), T(0));
    // Written in place: PreparedCall::memory has the address of the gradient of the source.
    std::vector<T> between;
    std::vector<T>& d_x = layer == 0 ? d_input.source : between;
    d_x.assign(x.size(), T(0));
    for (int64_t pass = 0; pass < Passes(problem); ++pass) {
      const PassShape s = ShapeOf(problem, layer, pass);
      const int64_t state = layer * Passes(problem) + pass;
      const bool second = pass == 1 && problem.passes == LstmPasses::kConcatenated;
      PassBackward<T>(s, WeightsOf<const T>(weights, s, pass), WeightsOf<T>(d_weights, s, pass),
                      forward.stored[layer].passes[pass], x.data(),
                      input.initial_hidden.data() + state * states,
                      input.initial_cell.data() + state * cells,
                      d_above.data() + (second ? s.state : 0), OutputWidth(problem), d_x.data(),
                      d_input.initial_hidden.data() + state * states,
                      d_input.initial_cell.data() + state * cells);
    }
    if (layer != 0) d_above = std::move(between);
  }
}

// [flop] Of larger problems a smaller twin is verified: the loops would outlast the measurement.
inline constexpr double kMaxFlopsToVerify = 50e6;

// Runs the call and compares all outputs (for `bwd` all gradients) with the reference loops in
// double on the same inputs. Errors are relative to the largest value of each tensor.
template <class Call>
workload::Verification CompareWithLoops(Call& call, const LstmProblem& problem,
                                        LstmDirection direction, const LstmInput<float>& input,
                                        const LstmOutput<float>& d_output, double tolerance) {
  const auto exact = ToDouble(input);
  LstmForwardResult<double> forward;
  LstmForward(problem, exact, forward);
  call.Run();
  LstmDifference difference;
  if (direction == LstmDirection::kBackward) {
    LstmInput<double> d_input;
    LstmBackward(problem, exact, forward, ToDouble(d_output), d_input);
    difference = Difference(call.Gradients(), d_input);
  } else {
    difference = Difference(call.Outputs(), forward.outputs);
  }
  return {difference.max_error <= tolerance, difference.max_error, tolerance,
          fmt::format("all {} outputs", difference.count)};
}

// Checks the last step of each pass, layer and sample: recomputes it gate by gate, with dot
// products and sigmoid(x) = (1 + tanh(x/2)) / 2, and compares with the final states. Also compares
// the output with the hidden states.
workload::Verification CheckLastSteps(const LstmProblem& problem, const LstmInput<double>& input,
                                      const LstmForwardResult<double>& forward);

// Compares two derivatives of sum(output * d_output) along a random direction in the space of all
// inputs: a central difference of two forward calls, and the derivative by `d_input`. max_error is
// their difference, divided by |d_input| * |direction|.
workload::Verification CheckGradient(const LstmProblem& problem, const LstmInput<double>& input,
                                     const LstmOutput<double>& d_output,
                                     const LstmInput<double>& d_input);

}  // namespace dlroof::lstm
