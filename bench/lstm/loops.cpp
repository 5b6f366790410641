// The checks of an LSTM, and LSTM/cpu/reference: the loops as a benchmark, in f64 on one thread.
#include "bench/lstm/loops.h"

#include <limits>
#include <memory>

#include "bench/workload/memory.h"
#include "bench/workload/operator_parts.h"

namespace dlroof::lstm {
namespace {

// Updates the maximum error; NaN and infinity count as the largest double.
void Note(double error, double& worst) {
  worst = std::max(worst, std::isfinite(error) ? error : std::numeric_limits<double>::max());
}

double Gate(const LstmLayerWeights<double>& weights, const lstm_reference::PassShape& s,
            int64_t pass, int64_t column, const double* x, const double* hidden_before) {
  const int64_t gates = 4 * s.hidden;
  double sum = weights.bias[pass * gates + column];
  for (int64_t k = 0; k < s.input; ++k)
    sum += weights.input[(pass * s.input + k) * gates + column] * x[k];
  for (int64_t k = 0; k < s.state; ++k)
    sum += weights.state[(pass * s.state + k) * gates + column] * hidden_before[k];
  return sum;
}

struct States {
  std::vector<double> hidden, cell;
};
States Step(const LstmLayerWeights<double>& weights, const lstm_reference::PassShape& s,
            int64_t pass, const lstm_reference::StepRow<double>& row) {
  const auto sigmoid = [](double a) { return 0.5 * (1 + std::tanh(0.5 * a)); };
  States states;
  std::vector<double> exposed(s.hidden);
  for (int64_t u = 0; u < s.hidden; ++u) {
    const auto sum = [&](int64_t gate) {
      return Gate(weights, s, pass, gate * s.hidden + u, row.x, row.hidden_before);
    };
    const auto peephole = [&](int64_t gate, double cell) {
      return s.peephole ? cell * weights.peephole[(pass * 3 + gate) * s.hidden + u] : 0;
    };
    const double i = sigmoid(sum(0) + peephole(0, row.cell_before[u]));
    const double f = sigmoid(sum(1) + peephole(1, row.cell_before[u]));
    states.cell.push_back(f * row.cell_before[u] + i * std::tanh(sum(2)));
    exposed[u] = sigmoid(sum(3) + peephole(2, states.cell.back())) * std::tanh(states.cell.back());
  }
  if (s.projection == 0) {
    states.hidden = std::move(exposed);
    return states;
  }
  for (int64_t k = 0; k < s.projection; ++k) {
    double sum = 0;
    for (int64_t u = 0; u < s.hidden; ++u)
      sum += weights.projection[(pass * s.hidden + u) * s.projection + k] * exposed[u];
    states.hidden.push_back(sum);
  }
  return states;
}

struct LayerPass {
  int64_t layer, pass;
};

// Returns the largest difference between a pass's final states and those that Step() recomputes.
double LastStepError(const LstmProblem& problem, const LstmInput<double>& input,
                     const LstmForwardResult<double>& forward, LayerPass which) {
  const auto s = lstm_reference::ShapeOf(problem, which.layer, which.pass);
  const auto& stored = forward.stored[which.layer].passes[which.pass];
  const double* x =
      which.layer == 0 ? input.source.data() : forward.stored[which.layer - 1].output.data();
  const int64_t row = (which.layer * Passes(problem) + which.pass) * s.samples;
  double worst = 0;
  for (int64_t sample = 0; sample < s.samples; ++sample) {
    const auto last =
        lstm_reference::RowOf(s, stored, x, input.initial_hidden.data() + row * s.state,
                              input.initial_cell.data() + row * s.hidden, s.steps - 1, sample);
    const States states = Step(input.layers[which.layer], s, which.pass, last);
    for (int64_t k = 0; k < s.state; ++k)
      Note(std::abs(states.hidden[k] - forward.outputs.final_hidden[(row + sample) * s.state + k]),
           worst);
    for (int64_t u = 0; u < s.hidden; ++u)
      Note(std::abs(states.cell[u] - forward.outputs.final_cell[(row + sample) * s.hidden + u]),
           worst);
  }
  return worst;
}

// Returns the maximum difference between the output and the last layer's hidden states.
double OutputError(const LstmProblem& problem, const LstmForwardResult<double>& forward) {
  const int64_t state = StateWidth(problem), width = OutputWidth(problem);
  const auto& passes = forward.stored.back().passes;
  double worst = 0;
  for (int64_t row = 0; row < problem.t * problem.n; ++row)
    for (int64_t k = 0; k < width; ++k) {
      double expected = passes[k / state].hidden[row * state + k % state];
      if (problem.passes == LstmPasses::kSummed) expected += passes[1].hidden[row * state + k];
      Note(std::abs(forward.outputs.output[row * width + k] - expected), worst);
    }
  return worst;
}

double Loss(const LstmProblem& problem, const LstmInput<double>& input,
            const LstmOutput<double>& d_output) {
  LstmForwardResult<double> forward;
  LstmForward(problem, input, forward);
  double loss = 0;
  ForEachOutput(
      [&](const auto& value, const auto& weight) {
        for (size_t k = 0; k < value.size(); ++k) loss += value[k] * weight[k];
      },
      forward.outputs, d_output);
  return loss;
}

LstmInput<double> Moved(LstmInput<double> input, const LstmInput<double>& direction, double step) {
  ForEachInput(
      [&](auto& value, const auto& along) {
        for (size_t k = 0; k < value.size(); ++k) value[k] += step * along[k];
      },
      input, direction);
  return input;
}

}  // namespace

workload::Verification CheckLastSteps(const LstmProblem& problem, const LstmInput<double>& input,
                                      const LstmForwardResult<double>& forward) {
  workload::Verification verification;
  // Far above the rounding errors of some thousand products of size 1, summed in another order.
  verification.tolerance = 1e-12;
  Note(OutputError(problem, forward), verification.max_error);
  for (int64_t layer = 0; layer < problem.l; ++layer)
    for (int64_t pass = 0; pass < Passes(problem); ++pass)
      Note(LastStepError(problem, input, forward, {layer, pass}), verification.max_error);
  verification.ok = verification.max_error <= verification.tolerance;
  verification.how = "last step of every layer and pass, gate by gate";
  return verification;
}

workload::Verification CheckGradient(const LstmProblem& problem, const LstmInput<double>& input,
                                     const LstmOutput<double>& d_output,
                                     const LstmInput<double>& d_input) {
  // A central difference has the errors O(step^2) and, by cancellation, 1e-16 / step: below 1e-9.
  constexpr double kStep = 1e-5;
  LstmInput<double> direction = d_input;
  uint64_t seed = 0x646972ULL;
  double slope = 0, gradient_square = 0, direction_square = 0;
  ForEachInput(
      [&](const auto& gradient, auto& along) {
        const auto values =
            workload::SeededValues(static_cast<int64_t>(along.size()), ++seed, "f32", -1, 1);
        along.assign(values.begin(), values.end());
        for (size_t k = 0; k < along.size(); ++k) {
          slope += gradient[k] * along[k];
          gradient_square += gradient[k] * gradient[k];
          direction_square += along[k] * along[k];
        }
      },
      d_input, direction);
  const double difference = (Loss(problem, Moved(input, direction, kStep), d_output) -
                             Loss(problem, Moved(input, direction, -kStep), d_output)) /
                            (2 * kStep);
  workload::Verification verification{.tolerance = 1e-6};
  Note(std::abs(slope - difference) / std::sqrt(gradient_square * direction_square),
       verification.max_error);
  verification.ok = verification.max_error <= verification.tolerance;
  verification.how = "derivative along a random direction of all inputs, by central difference";
  return verification;
}

namespace {

struct ReferenceCall {
  LstmProblem problem;
  LstmInput<double> input;
  LstmOutput<double> d_output;
  LstmForwardResult<double> forward;
  LstmInput<double> d_input;
};

// Returns the prepared call of `run`. Its memory lists the tensors that have the same address in
// each call: all but gradients between layers.
workload::PreparedCall Prepared(const std::function<void()>& run,
                                const std::function<workload::Verification()>& check,
                                const ReferenceCall& call, Work modelled) {
  workload::TensorList tensors, weights;
  const auto add = [&](const std::vector<double>& values) { tensors.push_back(&values); };
  for (const auto* values :
       {&call.input.source, &call.input.initial_hidden, &call.input.initial_cell})
    add(*values);
  for (const auto& layer : call.input.layers)
    for (const auto tensor : kLayerTensors<double>) weights.push_back(&(layer.*tensor));
  ForEachOutput(add, call.forward.outputs);
  for (const auto& layer : call.forward.stored) {
    add(layer.output);
    for (const auto& pass : layer.passes)
      for (const auto* values : {&pass.gates, &pass.cell, &pass.exposed, &pass.hidden})
        add(*values);
  }
  ForEachOutput(add, call.d_output);
  ForEachInput(add, call.d_input);
  return workload::PreparedLoops(run, check, std::move(modelled), tensors, weights);
}

LstmCase ReadRequest(const workload::BenchmarkName& name) {
  return ReadLstmCase(name, {"f64"}, {{"peephole"}});
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const LstmCase lstm = ReadRequest(name);
  const auto type = UniformLstmType("f64");
  workload::RequireHostMemory(LeastHostBytes(lstm.problem, LstmDirection::kForwardTraining, type),
                              ToText(lstm.problem));
  auto call = std::make_shared<ReferenceCall>();
  call->problem = lstm.problem;
  call->input = ToDouble(SeededLstmInput(lstm.problem, settings.seed, "f32"));
  const bool backward = lstm.direction == LstmDirection::kBackward;
  std::function<void()> run = [call] { LstmForward(call->problem, call->input, call->forward); };
  if (backward) {
    call->d_output = ToDouble(SeededLstmGradient(lstm.problem, settings.seed));
    run();
    run = [call] {
      LstmBackward(call->problem, call->input, call->forward, call->d_output, call->d_input);
    };
  }
  run();  // the first call allocates the outputs
  const auto check = [call, backward] {
    return backward ? CheckGradient(call->problem, call->input, call->d_output, call->d_input)
                    : CheckLastSteps(call->problem, call->input, call->forward);
  };
  return Prepared(
      run, check, *call,
      ModelledWork(lstm.problem, lstm.direction, type, "fp64.vector", "fp64.vector", 1));
}

[[maybe_unused]] const bool reference_registered = workload::RegisterBackend(
    {"LSTM", "cpu", "reference", workload::CheckedWorkload(ReadRequest), std::nullopt, Prepare});

}  // namespace
}  // namespace dlroof::lstm
