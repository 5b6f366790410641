// Registers the op and its cell on oneDNN.
#include "bench/workload/op.h"

#include "bench/matmul/benchdnn.h"
#include "bench/matmul/case.h"

namespace dlroof::matmul {
namespace {

std::string WithBatch(const workload::BenchmarkName& name, int64_t batch) {
  if (!workload::HasOption(name, "ip"))
    throw Unsupported("a matrix product does not say which of its sizes is the batch (ip does)");
  auto problem = ParseMatmul(name.problem);
  problem.m = batch;
  return ToText(ParseMatmul(ToText(problem)));
}

workload::TrainedLayer Trained(const workload::BenchmarkName& name) {
  if (!workload::HasOption(name, "ip"))
    throw Unsupported("a matrix product does not say which of its matrices is trained (ip does)");
  const auto problem = ParseMatmul(name.problem);
  return {problem.m, CountB(problem) + (workload::HasOption(name, "bias") ? problem.n : 0)};
}

[[maybe_unused]] const bool op_registered = workload::RegisterOp(
    {.name = "Matmul",
     .words = {"matrix product", {{"pairs", "b"}, {"rows", "m"}, {"columns", "n"}, {"depth", "k"}}},
     .flop_convention = "2*B*M*N*K in every direction; each bias add, relu and add to "
                        "the bias gradient 1, apart",
     .benchdnn = {&kMatmulDriver, &kIpDriver},
     .directions = {"fwd", "bwd_data", "bwd_weights"},
     .templates = "Matmul/cpu/onednn/fwd/{f32,bf16,int8}/*\n"
                  "Matmul/cpu/onednn/{bwd_data,bwd_weights}/{f32,bf16}/*\n",
     .with_batch = WithBatch,
     .trained = Trained,
     .variants = {{"layout", {"any"}, "the library packs its matrices outside of the call"}}});

workload::Workload Read(const workload::BenchmarkName& name) {
  return {.repro = MatmulBenchdnn(ReadOnednnMatmulCase(name))};
}

[[maybe_unused]] const bool on_onednn =
    workload::RegisterCell({"Matmul", "cpu", "onednn", Read, "oneDNN 3.2 or newer"});

}  // namespace
}  // namespace dlroof::matmul
