// Registers the cell of the op on oneDNN.
#include "bench/conv2d/benchdnn_line.h"
#include "bench/conv2d/case.h"

namespace dlroof {
namespace {

Workload Read(const BenchmarkName& name) {
  const auto one = ReadOnednnCase(name);
  return {.repro = ConvBenchdnn(one.problem, one.direction, one.type, name.options)};
}

[[maybe_unused]] const bool on_onednn =
    RegisterCell({"Conv2D", "cpu", "onednn", Read, "oneDNN 3.2 or newer"});

}  // namespace
}  // namespace dlroof
