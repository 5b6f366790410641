// Registers the op and its cell on oneDNN.
#include "bench/workload/op.h"

#include "bench/conv2d/benchdnn.h"
#include "bench/conv2d/case.h"
#include "bench/conv2d/delta.h"

namespace dlroof {
namespace {

[[maybe_unused]] const bool registered = RegisterOp(
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
     .gpu_traffic = DeltaModel});

Workload Read(const BenchmarkName& name) {
  return {.repro = ConvBenchdnn(ReadOnednnConv2dCase(name))};
}

[[maybe_unused]] const bool on_onednn =
    RegisterCell({"Conv2D", "cpu", "onednn", Read, "oneDNN 3.2 or newer"});

}  // namespace
}  // namespace dlroof
