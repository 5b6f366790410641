// Registers the op and its cell on oneDNN.
#include "bench/workload/op.h"

#include "bench/lstm/benchdnn.h"
#include "bench/lstm/case.h"

namespace dlroof::lstm {
namespace {

std::string WithBatch(const workload::BenchmarkName& name, int64_t batch) {
  auto problem = ParseLstmProblem(name.problem);
  problem.n = batch;
  return ToText(ParseLstmProblem(ToText(problem)));
}

workload::TrainedLayer Trained(const workload::BenchmarkName& name) {
  auto problem = ParseLstmProblem(name.problem);
  problem.peephole = workload::HasOption(name, "peephole");
  const auto elements = Elements(problem);
  return {problem.n, elements.weights + elements.bias + elements.peephole};
}

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
     .with_batch = WithBatch,
     .trained = Trained,
     .variants = {{"layout", {"ldigo"}, "plain weights"}}});

workload::Workload Read(const workload::BenchmarkName& name) {
  return {.repro = LstmBenchdnn(ReadOnednnLstmCase(name), name.type)};
}

[[maybe_unused]] const bool on_onednn =
    workload::RegisterCell({"LSTM", "cpu", "onednn", Read, "oneDNN 3.2 or newer"});

}  // namespace
}  // namespace dlroof::lstm
