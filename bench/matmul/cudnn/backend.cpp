// GroupedMatmul/gpu/cudnn: all experts' products in one kernel of cuDNN's graph API.
#include "bench/matmul/cudnn/backend.h"

#include <memory>
#include <numeric>

#include "bench/workload/memory.h"

namespace dlroof::matmul {
namespace {

using cudnn::GraphCall;

std::vector<double> FirstRows(const GroupedProblem& problem) {
  const auto rows = RowsOfExperts(problem);
  std::vector<double> first(rows.size());
  std::exclusive_scan(rows.begin(), rows.end(), first.begin(), 0.0);
  return first;
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const auto request = ReadCudnnGroupedCase(name);
  const auto sizes = SizesOf(request);
  constexpr double kHostBytes = 20;  // [byte] an element in f32, in f64, encoded
  workload::RequireHostMemory(
      kHostBytes * static_cast<double>(sizes.source + sizes.weights + sizes.destination),
      sizes.problem);
  const auto call = std::make_shared<GraphCall>();
  Describe(request, *call);
  call->Propose();
  call->Allocate(sizes.problem);
  const auto in = std::make_shared<workload::ProductInputs>();
  const auto upload = [request, in, call = call.get()](unsigned seed) {
    *in = workload::SeededInputs(request, seed);
    call->Upload("a", {in->source.begin(), in->source.end()});
    call->Upload("b", {in->weights.begin(), in->weights.end()});
    call->Upload("first_rows", FirstRows(request.problem));
  };
  const auto compare = [request, in, seed = settings.seed, call = call.get()] {
    return workload::CheckOutput(request, *in, workload::ProductOutput<double>{call->Download("c")},
                                 seed);
  };
  return GraphCall::Prepared(call, WorkOf(request, PipeOf(request.type)), settings.seed, upload,
                             compare);
}

[[maybe_unused]] const bool backend_registered = workload::RegisterBackend(
    {.op = "GroupedMatmul", .device = "gpu", .library = "cudnn", .prepare = Prepare});

}  // namespace

void Describe(const GroupedCase& request, GraphCall& call) {
  const auto& p = request.problem;
  // Weights are stored n x k.
  const auto c = call.graph.moe_grouped_matmul(
      call.Input("a", {1, p.m, p.k}, request.type),
      call.Input("b", {p.g, p.k, p.n}, request.type, {p.n * p.k, 1, p.k}),
      call.Input("first_rows", {p.g, 1, 1}, "s32"), nullptr, nullptr,
      cudnn_frontend::graph::Moe_grouped_matmul_attributes().set_name("experts").set_mode(
          cudnn_frontend::MoeGroupedMatmulMode_t::NONE));
  call.Output("c", c, {1, p.m, p.n}, request.type);
}

}  // namespace dlroof::matmul
