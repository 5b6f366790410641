#include "bench/eltwise/case.h"

#include <fmt/format.h>

#include "bench/rows/operator.h"

namespace dlroof::eltwise {
namespace {

EltwiseCase ReadCase(const workload::BenchmarkName& name,
                     const std::vector<std::string_view>& types) {
  std::vector<std::string_view> functions;
  for (const auto function : workload::kEltwises)
    if (function != EltwiseCase().function) functions.push_back(Key(function));
  EltwiseCase read{rows::ReadRowsCase(name, types, {{"training"}, functions})};
  for (const auto function : workload::kEltwises)
    if (workload::HasOption(name, Key(function))) read.function = function;
  return read;
}

}  // namespace

EltwiseCase ReadOnednnCase(const workload::BenchmarkName& name) {
  return ReadCase(name, {"f32", "bf16"});
}

EltwiseCase ReadReferenceCase(const workload::BenchmarkName& name) {
  return ReadCase(name, {"f64"});
}

logs::PrimitiveText Logged(const EltwiseCase& eltwise) {
  return rows::Logged(eltwise, "eltwise",
                      fmt::format("alg:eltwise_{} alpha:0 beta:0", Key(eltwise.function)));
}

namespace {

[[maybe_unused]] const bool op_registered = workload::RegisterOp(
    {.name = "Eltwise",
     .words = {"elementwise function", {{"rows", "m"}, {"columns", "n"}}},
     .flop_convention = "M*N times: relu, logistic and tanh 1, gelu_erf 5, gelu_tanh 9",
     .benchdnn = {&kEltwiseDriver},
     .directions = {"fwd"},
     .templates = "Eltwise/cpu/onednn/fwd/{f32,bf16}/*\n"});

[[maybe_unused]] const bool on_onednn = workload::RegisterBackend(
    {"Eltwise", "cpu", "onednn", rows::ReadWorkload<ReadOnednnCase>, "oneDNN 3.2 or newer"});

}  // namespace
}  // namespace dlroof::eltwise
