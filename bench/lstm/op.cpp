// Registers the cell of the op on oneDNN.
#include "bench/lstm/benchdnn_line.h"
#include "bench/lstm/types.h"

namespace dlroof {
namespace {

Workload Read(const BenchmarkName& name) {
  return {.repro = LstmBenchdnn(ReadOnednnRequest(name), name.type)};
}

[[maybe_unused]] const bool on_onednn =
    RegisterCell({"LSTM", "cpu", "onednn", Read, "oneDNN 3.2 or newer"});

}  // namespace
}  // namespace dlroof
