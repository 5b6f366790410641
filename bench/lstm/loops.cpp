// LSTM/cpu/reference: the plain loops as a benchmark, in f64 on one thread.
#include "bench/lstm/loops.h"

#include <memory>

#include "bench/lstm/case.h"
#include "bench/lstm/check.h"
#include "bench/workload/memory.h"
#include "bench/workload/workload.h"

namespace dlroof::lstm {
namespace {

constexpr LstmElementBytes kBytes = {8, 8, 8, 8, 8, 8, 8, 8};

// Everything that one call of the plain loops reads and writes.
struct ReferenceCall {
  LstmProblem problem;
  LstmInput<double> input;
  LstmOutput<double> d_output;
  LstmForwardResult<double> forward;
  LstmInput<double> d_input;
};

// Returns every tensor whose memory is the same in each call. The gradients between layers are
// temporary.
std::vector<workload::MemoryRegion> Memory(const ReferenceCall& call) {
  std::vector<workload::MemoryRegion> memory;
  const auto add = [&](const std::vector<double>& values, bool weights = false) {
    if (!values.empty()) memory.push_back({values.data(), values.size() * sizeof(double), weights});
  };
  add(call.input.source);
  add(call.input.initial_hidden);
  add(call.input.initial_cell);
  for (const auto& layer : call.input.layers)
    for (const auto* values :
         {&layer.input, &layer.state, &layer.projection, &layer.bias, &layer.peephole})
      add(*values, true);
  ForEachOutput([&](const auto& values) { add(values); }, call.forward.outputs);
  for (const auto& layer : call.forward.stored) {
    add(layer.output);
    for (const auto& pass : layer.passes)
      for (const auto* values : {&pass.gates, &pass.cell, &pass.exposed, &pass.hidden})
        add(*values);
  }
  ForEachOutput([&](const auto& values) { add(values); }, call.d_output);
  ForEachInput([&](const auto& values) { add(values); }, call.d_input);
  return memory;
}

LstmCase ReadRequest(const workload::BenchmarkName& name) {
  return ReadLstmCase(name, {"f64"}, {{"peephole"}});
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const LstmCase lstm = ReadRequest(name);
  workload::RequireHostMemory(LeastHostBytes(lstm.problem, LstmDirection::kForwardTraining, kBytes),
                              ToText(lstm.problem));
  auto call = std::make_shared<ReferenceCall>();
  call->problem = lstm.problem;
  call->input = ToDouble(SeededLstmInput(lstm.problem, settings.seed, "f32"));
  workload::PreparedCall prepared;
  if (lstm.direction == LstmDirection::kBackward) {
    call->d_output = ToDouble(SeededLstmGradient(lstm.problem, settings.seed));
    LstmForward(call->problem, call->input, call->forward);
    prepared.run = [call] {
      LstmBackward(call->problem, call->input, call->forward, call->d_output, call->d_input);
    };
    prepared.verify = [call, run = prepared.run] {
      run();
      return CheckGradient(call->problem, call->input, call->d_output, call->d_input);
    };
  } else {
    prepared.run = [call] { LstmForward(call->problem, call->input, call->forward); };
    prepared.verify = [call, run = prepared.run] {
      run();
      return CheckLastSteps(call->problem, call->input, call->forward);
    };
  }
  prepared.run();  // the first call allocates the outputs
  prepared.memory = Memory(*call);
  prepared.algorithm = "plain loops";
  prepared.threads = 1;
  prepared.modelled =
      ModelledWork(lstm.problem, lstm.direction, kBytes, "fp64.vector", "fp64.vector", 1);
  return prepared;
}

[[maybe_unused]] const bool reference_registered = workload::RegisterBackend(
    {"LSTM", "cpu", "reference", workload::CheckedWorkload<ReadRequest>, std::nullopt, Prepare});

}  // namespace
}  // namespace dlroof::lstm
