// Attention/gpu/cudnn: scaled dot-product attention by the fused kernels of cuDNN's graph API.
#include "bench/attention/cudnn/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>

#include "bench/workload/memory.h"

namespace dlroof::attention {
namespace {

namespace graph = cudnn_frontend::graph;
using cudnn::GraphCall;
using cudnn::GraphTensor;

using Sizes = std::vector<int64_t>;
Sizes QuerySizes(const AttentionProblem& p) { return {p.b, p.h, p.q, p.d}; }
Sizes KeySizes(const AttentionProblem& p) { return {p.b, p.kv, p.k, p.d}; }
Sizes StatisticSizes(const AttentionProblem& p) { return {p.b, p.h, p.q, 1}; }
const Sizes kNumber = {1, 1, 1, 1};

int64_t PagesOf(const CudnnAttentionCase& request) {  // pages per sequence
  return (request.problem.k + *request.page - 1) / *request.page;
}

// Returns whether lengths are inputs. Paged keys need them, as the last page may be partly unused.
bool HasLengths(const CudnnAttentionCase& request) {
  return request.page || !request.problem.lengths.empty();
}

// Sets scale and mask. Forward and backward attributes have the same setters.
template <class Attributes>
void SetMask(const CudnnAttentionCase& request, GraphCall& call, Attributes& attributes) {
  const auto& p = request.problem;
  attributes.set_name("attention")
      .set_attn_scale(static_cast<float>(1 / std::sqrt(static_cast<double>(p.d))));
  if (p.causal != Causal::kNone)
    attributes
        .set_diagonal_alignment(p.causal == Causal::kTopLeft
                                    ? cudnn_frontend::DiagonalAlignment_t::TOP_LEFT
                                    : cudnn_frontend::DiagonalAlignment_t::BOTTOM_RIGHT)
        .set_diagonal_band_right_bound(0);
  if (p.window) attributes.set_diagonal_band_left_bound(static_cast<int>(*p.window));
  if (HasLengths(request))
    attributes.set_padding_mask(true)
        .set_seq_len_q(call.Input("lengths_q", {p.b, 1, 1, 1}, "s32"))
        .set_seq_len_kv(call.Input("lengths_k", {p.b, 1, 1, 1}, "s32"));
}

// Factors of cuDNN's fp8 node in its order: descale q, k, v and weights; scale weights and result.
constexpr double kFp8Scales[] = {1, 1, 1, 1 / kFp8Scale, kFp8Scale, kFp8Scale};
std::string ScaleName(size_t index) { return fmt::format("scale{}", index); }

void DescribeForward(const CudnnAttentionCase& request, GraphCall& call) {
  const auto& p = request.problem;
  graph::SDPA_attributes attributes;
  SetMask(request, call, attributes);
  attributes.set_generate_stats(request.training);
  const auto q = call.Input("q", QuerySizes(p), request.type);
  auto keys = KeySizes(p);
  if (request.page) {
    keys = {p.b * PagesOf(request), p.kv, *request.page, p.d};
    const auto table = [&](const std::string& name) {
      return call.Input(name, {p.b, 1, PagesOf(request), 1}, "s32");
    };
    attributes.set_paged_attention_k_table(table("pages_k"))
        .set_paged_attention_v_table(table("pages_v"))
        .set_paged_attention_max_seq_len_kv(static_cast<int>(p.k));
  }
  const auto k = call.Input("k", keys, request.type), v = call.Input("v", keys, request.type);
  GraphTensor o, statistics;
  if (request.type == "e4m3") {
    std::vector<GraphTensor> s;
    for (size_t i = 0; i < std::size(kFp8Scales); ++i)
      s.push_back(call.Input(ScaleName(i), kNumber, "f32"));
    const auto results =
        call.graph.sdpa_fp8(q, k, v, s[0], s[1], s[2], s[3], s[4], s[5], attributes);
    o = results[0], statistics = results[1];
    call.Output("largest_weight", results[2], kNumber, "f32");
    call.Output("largest_o", results[3], kNumber, "f32");
  } else {
    const auto results = call.graph.sdpa(q, k, v, attributes);
    o = results[0], statistics = results[1];
  }
  call.Output("o", o, QuerySizes(p), request.type);
  if (request.training) call.Output("statistics", statistics, StatisticSizes(p), "f32");
}

void DescribeBackward(const CudnnAttentionCase& request, GraphCall& call) {
  if (request.type == "e4m3") throw Unsupported("fp8 attention has no bwd here, only fwd");
  const auto& p = request.problem;
  const auto query = [&](const std::string& name) {
    return call.Input(name, QuerySizes(p), request.type);
  };
  graph::SDPA_backward_attributes attributes;
  SetMask(request, call, attributes);
  const auto q = query("q"), k = call.Input("k", KeySizes(p), request.type),
             v = call.Input("v", KeySizes(p), request.type), o = query("o"), d_o = query("do");
  const auto [dq, dk, dv] = call.graph.sdpa_backward(
      q, k, v, o, d_o, call.Input("statistics", StatisticSizes(p), "f32"), attributes);
  call.Output("dq", dq, QuerySizes(p), request.type);
  call.Output("dk", dk, KeySizes(p), request.type);
  call.Output("dv", dv, KeySizes(p), request.type);
}

void UploadInputs(const CudnnAttentionCase& request, const Tensors& in, uint64_t seed,
                  GraphCall& call) {
  const auto& p = request.problem;
  call.Upload("q", in.q);
  if (HasLengths(request)) {
    const auto sequences = static_cast<size_t>(p.b);
    call.Upload("lengths_q", std::vector<double>(sequences, static_cast<double>(p.q)));
    auto lengths = std::vector<double>(p.lengths.begin(), p.lengths.end());
    lengths.resize(sequences, static_cast<double>(p.k));
    call.Upload("lengths_k", lengths);
  }
  if (request.type == "e4m3")
    for (size_t i = 0; i < std::size(kFp8Scales); ++i) call.Upload(ScaleName(i), {kFp8Scales[i]});
  if (!request.page) {
    call.Upload("k", in.k);
    return call.Upload("v", in.v);
  }
  std::vector<int64_t> table(static_cast<size_t>(p.b * PagesOf(request)));
  std::iota(table.begin(), table.end(), 0);
  std::shuffle(table.begin(), table.end(), std::mt19937_64(seed));
  for (const auto* name : {"pages_k", "pages_v"})
    call.Upload(name, std::vector<double>(table.begin(), table.end()));
  call.Upload("k", InPages(request, in.k, table));
  call.Upload("v", InPages(request, in.v, table));
}

std::shared_ptr<GraphCall> NewCall(const CudnnAttentionCase& request) {
  auto call = std::make_shared<GraphCall>();
  Describe(request, *call);
  call->Propose();
  call->Allocate(ToText(request.problem));
  return call;
}

workload::Verification CheckForward(const CudnnAttentionCase& request, const Tensors& in,
                                    uint64_t seed, const GraphCall& call) {
  auto o = call.Download("o");
  if (request.type == "e4m3")
    for (double& value : o) value /= kFp8Scale;
  auto found = Check(request.problem, request.type, in, o, seed);
  if (!found.ok || !request.training) return found;
  const auto statistics = CheckStatistics(request.problem, in, call.Download("statistics"), seed);
  return statistics.ok ? found : statistics;
}

// Returns a forward call. Whenever the inputs of a seed are uploaded, they are also stored in `in`.
workload::PreparedCall PrepareForward(const CudnnAttentionCase& request,
                                      const std::shared_ptr<GraphCall>& call,
                                      const std::shared_ptr<Tensors>& in, unsigned seed) {
  const auto upload = [request, in, call = call.get()](unsigned of_seed) {
    *in = SeededInputs(request.problem, request.type, of_seed);
    UploadInputs(request, *in, of_seed, *call);
  };
  return GraphCall::Prepared(
      call, WorkOf(request), seed, upload,
      [request, in, seed, call = call.get()] { return CheckForward(request, *in, seed, *call); });
}

// Runs a forward call. Returns its result and statistics, and a seeded gradient. Throws
// std::runtime_error if the result is wrong.
BackwardInputs InputsOfBackward(const CudnnAttentionCase& request,
                                const std::shared_ptr<Tensors>& in, unsigned seed) {
  const CudnnAttentionCase forward = {
      .problem = request.problem, .type = request.type, .training = true};
  const auto call = NewCall(forward);
  const auto found = PrepareForward(forward, call, in, seed).verify();
  if (!found.ok) throw std::runtime_error("the forward call " + workload::DifferenceText(found));
  return {call->Download("o"), SeededGradient(request.problem, request.type, seed),
          call->Download("statistics")};
}

// Returns a backward call, whose inputs include result and statistics of a forward call.
workload::PreparedCall PrepareBackward(const CudnnAttentionCase& request,
                                       const std::shared_ptr<Tensors>& in, unsigned seed) {
  const auto& p = request.problem;
  const auto backward = std::make_shared<BackwardInputs>();
  const auto call = NewCall(request);
  const auto upload = [request, in, backward, call = call.get()](unsigned of_seed) {
    *backward = InputsOfBackward(request, in, of_seed);
    UploadInputs(request, *in, of_seed, *call);
    call->Upload("o", backward->o);
    call->Upload("do", backward->d_o);
    call->Upload("statistics", backward->statistics);
  };
  return GraphCall::Prepared(call, WorkOf(request), seed, upload, [=, call = call.get()] {
    const Tensors gradients = {call->Download("dq"), call->Download("dk"), call->Download("dv")};
    return CheckGradients(p, request.type, *in, *backward, gradients, seed);
  });
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const auto request = ReadCudnnCase(name);
  const auto& p = request.problem;
  constexpr double kHostBytes = 12;  // [byte] an element of q, k, v or o, as double and as f32
  workload::RequireHostMemory(
      kHostBytes * 2 * static_cast<double>(p.d * (p.b * p.h * p.q + p.b * p.kv * p.k)), ToText(p));
  const auto in = std::make_shared<Tensors>();
  return request.backward ? PrepareBackward(request, in, settings.seed)
                          : PrepareForward(request, NewCall(request), in, settings.seed);
}

[[maybe_unused]] const bool backend_registered = workload::RegisterBackend(
    {.op = "Attention", .device = "gpu", .library = "cudnn", .prepare = Prepare});

}  // namespace

void Describe(const CudnnAttentionCase& request, GraphCall& call) {
  request.backward ? DescribeBackward(request, call) : DescribeForward(request, call);
}

}  // namespace dlroof::attention
