// Registers the op and its cell on oneDNN.
#include "bench/workload/op.h"

#include "bench/matmul/benchdnn.h"
#include "bench/matmul/case.h"

namespace dlroof {
namespace {

[[maybe_unused]] const bool registered = RegisterOp(
    {.name = "Matmul",
     .words = {"matrix product", {{"pairs", "b"}, {"rows", "m"}, {"columns", "n"}, {"depth", "k"}}},
     .flop_convention = "2*B*M*N*K in every direction; each bias add, relu and add to "
                        "the bias gradient 1, apart",
     .benchdnn = {&kMatmulDriver, &kIpDriver}});

Workload Read(const BenchmarkName& name) {
  return {.repro = MatmulBenchdnn(ReadOnednnMatmulCase(name))};
}

[[maybe_unused]] const bool on_onednn =
    RegisterCell({"Matmul", "cpu", "onednn", Read, "oneDNN 3.2 or newer"});

}  // namespace
}  // namespace dlroof
