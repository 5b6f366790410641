#include "bench/softmax/case.h"

#include "bench/rows/operator.h"

namespace dlroof::softmax {

SoftmaxCase ReadOnednnCase(const workload::BenchmarkName& name) {
  return {rows::ReadRowsCase(name, {"f32", "bf16"}, {{"training"}})};
}

SoftmaxCase ReadReferenceCase(const workload::BenchmarkName& name) {
  return {rows::ReadRowsCase(name, {"f64"}, {})};
}

logs::PrimitiveText Logged(const SoftmaxCase& softmax) {
  return rows::Logged(softmax, "softmax", "alg:softmax_accurate axis:1");
}

namespace {

[[maybe_unused]] const bool op_registered = workload::RegisterOp(
    {.name = "Softmax",
     .words = {"softmax", {{"rows", "m"}, {"columns", "n"}}},
     .flop_convention = "M*(5*N-2): each comparison, subtraction, exponential, addition and "
                        "division 1",
     .benchdnn = {&kSoftmaxDriver},
     .directions = {"fwd"},
     .templates = "Softmax/cpu/onednn/fwd/{f32,bf16}/*\n"});

[[maybe_unused]] const bool on_onednn = workload::RegisterBackend(
    {"Softmax", "cpu", "onednn", rows::ReadWorkload<ReadOnednnCase>, "oneDNN 3.2 or newer"});

}  // namespace
}  // namespace dlroof::softmax
