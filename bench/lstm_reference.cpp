#include "bench/lstm_reference.h"

#include <fmt/format.h>

#include <memory>

#include "bench/host_memory.h"
#include "bench/lstm_check.h"
#include "bench/workload.h"

namespace dlroof {
namespace {

constexpr LstmElementBytes kBytes = {8, 8, 8, 8, 8};

// Everything that one call of the plain loops reads and writes.
struct ReferenceCall {
  LstmProblem problem;
  LstmInput<double> input;
  LstmOutput<double> d_output;
  LstmForwardResult<double> forward;
  LstmInput<double> d_input;
};

PreparedCall Prepare(const LstmRequest& request, const RunSettings& settings) {
  RequireHostMemory(LeastHostBytes(request.problem, LstmDirection::kForwardTraining, kBytes),
                    ToText(request.problem));
  auto call = std::make_shared<ReferenceCall>();
  call->problem = request.problem;
  call->input = ToDouble(SeededLstmInput(request.problem, settings.seed, "f32"));
  PreparedCall prepared;
  if (request.direction == LstmDirection::kBackward) {
    call->d_output = ToDouble(SeededLstmGradient(request.problem, settings.seed));
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
  prepared.algorithm = "plain loops";
  prepared.threads = 1;
  prepared.modelled =
      ModelledWork(request.problem, request.direction, kBytes, "fp64.vector", "fp64.vector", 1);
  return prepared;
}

Workload Make(const BenchmarkName& name) {
  const LstmRequest request = ParseLstmRequest(name, {"f64"});
  return {name, [request](const RunSettings& settings) { return Prepare(request, settings); }};
}

[[maybe_unused]] const bool registered = RegisterCell({"LSTM", "cpu", "reference", Make});

}  // namespace
}  // namespace dlroof
