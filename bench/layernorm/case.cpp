#include "bench/layernorm/case.h"

#include <fmt/format.h>

#include "bench/rows/operator.h"

namespace dlroof::layernorm {
namespace {

LayerNormCase ReadCase(const workload::BenchmarkName& name,
                       const std::vector<std::string_view>& types) {
  return {rows::ReadRowsCase(name, types, {{"training"}, {"scale"}, {"shift"}}),
          workload::HasOption(name, "scale"), workload::HasOption(name, "shift")};
}

}  // namespace

LayerNormCase ReadOnednnCase(const workload::BenchmarkName& name) {
  return ReadCase(name, {"f32", "bf16"});
}

LayerNormCase ReadReferenceCase(const workload::BenchmarkName& name) {
  return ReadCase(name, {"f64"});
}

logs::PrimitiveText Logged(const LayerNormCase& norm) {
  return rows::Logged(norm, "layer_normalization",
                      fmt::format("flags:{}{}", norm.scale ? "C" : "", norm.shift ? "H" : ""));
}

namespace {

[[maybe_unused]] const bool op_registered = workload::RegisterOp(
    {.name = "LayerNorm",
     .words = {"layer normalization", {{"rows", "m"}, {"columns", "n"}}},
     .flop_convention = "M*(6*N+3): mean N, variance 3*N, inverse root 3, normalization 2*N; scale "
                        "and shift 1 per element each",
     .benchdnn = {&kLnormDriver},
     .directions = {"fwd"},
     .templates = "LayerNorm/cpu/onednn/fwd/{f32,bf16}/*/scale/shift\n"});

[[maybe_unused]] const bool on_onednn = workload::RegisterBackend(
    {"LayerNorm", "cpu", "onednn", rows::ReadWorkload<ReadOnednnCase>, "oneDNN 3.2 or newer"});

}  // namespace
}  // namespace dlroof::layernorm
