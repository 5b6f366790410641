// Registers the op and its cell on oneDNN.
#include "bench/workload/op.h"

#include "bench/lstm/benchdnn.h"
#include "bench/lstm/case.h"

namespace dlroof {
namespace {

std::string WithBatch(const BenchmarkName& name, int64_t batch) {
  auto problem = ParseLstmProblem(name.problem);
  problem.n = batch;
  return ToText(ParseLstmProblem(ToText(problem)));
}

TrainedLayer Trained(const BenchmarkName& name) {
  auto problem = ParseLstmProblem(name.problem);
  problem.peephole = HasOption(name, "peephole");
  const auto elements = Elements(problem);
  return {problem.n, elements.weights + elements.bias + elements.peephole};
}

[[maybe_unused]] const bool op_registered = RegisterOp(
    {.name = "LSTM",
     .words =
         {"LSTM",
          {{"batch", "n"}, {"steps", "t"}, {"features", "i"}, {"hidden", "h"}, {"layers", "l"}}},
     .flop_convention = "matrix products and elementwise part apart; each sigmoid, tanh, add and "
                        "multiply of the elementwise part counts 1",
     .benchdnn = {&kRnnDriver},
     .directions = {"fwd_inference", "fwd_training", "bwd"},
     .templates = "LSTM/cpu/onednn/{fwd_inference,fwd_training,bwd}/{f32,bf16}/*\n",
     .with_batch = WithBatch,
     .trained = Trained,
     .variants = {{"layout", {"ldigo"}, "plain weights"}}});

Workload Read(const BenchmarkName& name) {
  return {.repro = LstmBenchdnn(ReadOnednnLstmCase(name), name.type)};
}

[[maybe_unused]] const bool on_onednn =
    RegisterCell({"LSTM", "cpu", "onednn", Read, "oneDNN 3.2 or newer"});

}  // namespace
}  // namespace dlroof
