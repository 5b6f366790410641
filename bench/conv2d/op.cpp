// Registers the op and its cell on oneDNN.
#include "bench/workload/op.h"

#include "bench/conv2d/benchdnn.h"
#include "bench/conv2d/case.h"
#include "bench/conv2d/delta.h"

namespace dlroof::conv2d {
namespace {

std::string WithBatch(const workload::BenchmarkName& name, int64_t batch) {
  auto problem = ParseConv2d(name.problem);
  problem.n = batch;
  return ToText(ParseConv2d(ToText(problem)));
}

workload::TrainedLayer Trained(const workload::BenchmarkName& name) {
  const auto problem = ParseConv2d(name.problem);
  const bool bias = workload::HasOption(name, "bias");
  return {problem.n, WeightsCount(problem) + (bias ? problem.k : 0)};
}

[[maybe_unused]] const bool op_registered = workload::RegisterOp(
    {.name = "Conv2D",
     .words = {"convolution",
               {{"batch", "n"},
                {"filters", "k"},
                {"channels", "c"},
                {"image", "h", "w _p"},
                {"kernel", "r", "s _p"},
                {"stride", "_s", "_p"},
                {"groups", "_g"}}},
     .flop_convention = "2*N*K*P*Q*(C/g)*R*S in every direction; each bias add, relu and add to "
                        "the bias gradient 1, apart",
     .benchdnn = {&kConvDriver},
     .directions = {"fwd", "bwd_data", "bwd_weights"},
     .templates = "Conv2D/cpu/onednn/fwd/{f32,bf16,int8}/*\n"
                  "Conv2D/cpu/onednn/{bwd_data,bwd_weights}/{f32,bf16}/*\n",
     .with_batch = WithBatch,
     .trained = Trained,
     .variants = {{"layout", {"nchw", "nhwc"}, "source and destination in this layout"},
                  {"algorithm", {"auto", "winograd"}, "fewer multiplications, or a better fit"}},
     .gpu_traffic = DeltaModel});

workload::Workload Read(const workload::BenchmarkName& name) {
  return {.repro = ConvBenchdnn(ReadOnednnConv2dCase(name))};
}

[[maybe_unused]] const bool on_onednn =
    workload::RegisterCell({"Conv2D", "cpu", "onednn", Read, "oneDNN 3.2 or newer"});

}  // namespace
}  // namespace dlroof::conv2d
