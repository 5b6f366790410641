// Registers the op and its cell on oneDNN.
#include "bench/workload/op.h"

#include "bench/lstm/benchdnn.h"
#include "bench/lstm/case.h"

namespace dlroof {
namespace {

[[maybe_unused]] const bool registered = RegisterOp(
    {.name = "LSTM",
     .words =
         {"LSTM",
          {{"batch", "n"}, {"steps", "t"}, {"features", "i"}, {"hidden", "h"}, {"layers", "l"}}},
     .flop_convention = "matrix products and elementwise part apart; each sigmoid, tanh, add and "
                        "multiply of the elementwise part counts 1",
     .benchdnn = {&kRnnDriver}});

Workload Read(const BenchmarkName& name) {
  return {.repro = LstmBenchdnn(ReadOnednnLstmCase(name), name.type)};
}

[[maybe_unused]] const bool on_onednn =
    RegisterCell({"LSTM", "cpu", "onednn", Read, "oneDNN 3.2 or newer"});

}  // namespace
}  // namespace dlroof
