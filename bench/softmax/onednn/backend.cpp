// Softmax/cpu/onednn: softmax over the last axis by oneDNN 3.x, from one tensor into another, both
// row by row.
#include <fmt/format.h>

#include "bench/onednn/call.h"
#include "bench/softmax/loops.h"
#include "bench/workload/operator_parts.h"

namespace dlroof::softmax {
namespace {

onednn::Call MakeCall(const SoftmaxCase& softmax, const std::vector<float>& source) {
  const auto& p = softmax.rows;
  const auto desc = onednn::PlainDesc({p.m, p.n}, onednn::DataType(softmax.type));
  auto call = onednn::CallOf<dnnl::softmax_forward>(
      {onednn::CpuEngine(), onednn::ForwardKind(softmax.training),
       dnnl::algorithm::softmax_accurate, desc, desc, 1});
  call.AddInput(DNNL_ARG_SRC, desc, source);
  call.AddOutput(DNNL_ARG_DST, desc);
  return call;
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const auto softmax = ReadOnednnCase(name);
  rows::RequireMemory(softmax);
  auto prepared = onednn::PrepareCall(
      settings, fmt::format("softmax fwd {}", softmax.type), SeededSource(softmax, settings.seed),
      [&](const onednn::Call&) { return workload::WorkOfLogged(Logged(softmax)); },
      [&](const std::vector<float>& source) { return MakeCall(softmax, source); },
      [softmax, seed = settings.seed](const std::vector<float>& source, const onednn::Call& call) {
        return CheckSoftmax(softmax, source, call.Values(DNNL_ARG_DST), seed);
      });
  prepared.levels.reason =
      Reason{fmt::format("the loops of softmax by {} are not modelled", prepared.algorithm)};
  return prepared;
}

[[maybe_unused]] const bool backend_registered = workload::RegisterBackend(
    {.op = "Softmax", .device = "cpu", .library = "onednn", .prepare = Prepare});

}  // namespace
}  // namespace dlroof::softmax
