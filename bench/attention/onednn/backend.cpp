// Attention/cpu/onednn by unfused primitives of oneDNN 3.x: a matmul writes the scores in f32, a
// binary adds the mask, a softmax writes the weights in the call's type, a matmul sums the values.
// Computes all pairs, also those hidden by the mask.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <memory>

#include "bench/attention/attention.h"
#include "bench/onednn/call.h"

namespace dlroof::attention {
namespace {

using dnnl::memory;
using onednn::CpuEngine;
using onednn::PlainDesc;

constexpr auto kF32 = memory::data_type::f32;

// Primitives executed in order. A tensor's memory is owned by the first primitive that uses it.
using Steps = std::vector<onednn::Call>;

void Run(const Steps& steps) {
  for (const auto& step : steps) step.Run();
}

std::vector<float> Floats(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

bool HasMask(const AttentionProblem& p) { return p.causal != Causal::kNone || !p.lengths.empty(); }

// Returns the mask added to the scores: minus infinity where a query does not see a key. One mask
// for all sequences if there are no lengths.
std::vector<float> MaskOf(const AttentionProblem& p) {
  const int64_t masks = p.lengths.empty() ? 1 : p.b;
  std::vector<float> mask(static_cast<size_t>(masks * p.q * p.k),
                          -std::numeric_limits<float>::infinity());
  for (int64_t row = 0; row < masks * p.q; ++row) {
    const auto keys = KeysOf(p, row / p.q, row % p.q);
    std::fill_n(mask.begin() + row * p.k + keys.begin, keys.size(), 0.0F);
  }
  return mask;
}

// Returns a call's primitives. Query heads that share keys are one product, so keys are read once.
Steps MakeSteps(const AttentionProblem& p, memory::data_type type, const Tensors& in) {
  const int64_t products = p.b * p.kv, rows = p.h / p.kv * p.q;
  const auto queries = PlainDesc({products, rows, p.d}, type);
  const auto keys = PlainDesc({products, p.k, p.d}, type);
  const auto scores = PlainDesc({products, rows, p.k}, kF32);
  const auto weights = PlainDesc({products, rows, p.k}, type);
  Steps steps;

  dnnl::post_ops scaled;
  scaled.append_eltwise(dnnl::algorithm::eltwise_linear, 1 / std::sqrt(static_cast<float>(p.d)), 0);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(scaled);
  const memory::desc transposed({products, p.d, p.k}, type, memory::dims{p.k * p.d, 1, p.d});
  auto& score = steps.emplace_back(
      onednn::CallOf<dnnl::matmul>({CpuEngine(), queries, transposed, scores, attributes}));
  score.AddInput(DNNL_ARG_SRC, queries, Floats(in.q));
  const auto key_memory = score.tensors.Filled(keys, Floats(in.k));
  score.arguments[DNNL_ARG_WEIGHTS] = {transposed, CpuEngine(), key_memory.get_data_handle()};
  const auto scores_memory = score.AddOutput(DNNL_ARG_DST, scores);

  if (HasMask(p)) {
    const auto by_head = PlainDesc({p.b, p.h, p.q, p.k}, kF32);
    const auto mask = PlainDesc({p.lengths.empty() ? 1 : p.b, 1, p.q, p.k}, kF32);
    auto& add = steps.emplace_back(onednn::CallOf<dnnl::binary>(
        {CpuEngine(), dnnl::algorithm::binary_add, by_head, mask, by_head}));
    const memory in_place(by_head, CpuEngine(), scores_memory.get_data_handle());
    add.arguments = {{DNNL_ARG_SRC_0, in_place}, {DNNL_ARG_DST, in_place}};
    add.AddInput(DNNL_ARG_SRC_1, mask, MaskOf(p));
  }

  auto& softmax = steps.emplace_back(onednn::CallOf<dnnl::softmax_forward>(
      {CpuEngine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::softmax_accurate, scores,
       weights, 2}));
  softmax.arguments[DNNL_ARG_SRC] = scores_memory;
  const auto weights_memory = softmax.AddOutput(DNNL_ARG_DST, weights);

  auto& sum =
      steps.emplace_back(onednn::CallOf<dnnl::matmul>({CpuEngine(), weights, keys, queries}));
  sum.arguments[DNNL_ARG_SRC] = weights_memory;
  sum.AddInput(DNNL_ARG_WEIGHTS, keys, Floats(in.v));
  sum.AddOutput(DNNL_ARG_DST, queries);

  for (auto& call : steps) call.listed = onednn::ListedArguments(call.arguments);
  return steps;
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const auto p = Read(name);
  RequireMemory(p, name.type);
  onednn::SetThreads(settings.threads);
  const auto inputs = std::make_shared<Tensors>(SeededInputs(p, name.type, settings.seed));
  const auto steps =
      std::make_shared<const Steps>(onednn::Translated(fmt::format("attention {}", name.type), [&] {
        return MakeSteps(p, onednn::DataType(name.type), *inputs);
      }));
  workload::PreparedCall prepared;
  prepared.isa = onednn::EffectiveIsa();
  std::unordered_map<int, memory> tensors;
  for (const auto& call : *steps) {
    prepared.algorithm += (prepared.algorithm.empty() ? "unfused " : " + ") + call.implementation;
    for (const auto& [argument, tensor] : call.arguments)
      tensors.emplace(static_cast<int>(tensors.size()), tensor);
  }
  // For a single query the library may use different pipes for the two products.
  const auto pipe = [&](const onednn::Call& product) {
    return onednn::MatrixPipe(name.type, product.implementation);
  };
  prepared.modelled = WorkOf(
      p, name.type, {pipe(steps->front()), pipe(steps->back()), "fp32.vector"}, steps->size());
  prepared.memory = onednn::Regions(tensors, {});
  prepared.explain.executed_over_useful =
      static_cast<double>(p.b * p.h * p.q * p.k) / static_cast<double>(Pairs(p));
  prepared.run = [steps] { Run(*steps); };
  prepared.verify = [steps, inputs, p, type = name.type, seed = settings.seed] {
    Run(*steps);
    const auto result = onednn::Plain(steps->back().arguments.at(DNNL_ARG_DST));
    auto found = Check(p, type, *inputs, {result.begin(), result.end()}, seed);
    *inputs = {};
    return found;
  };
  prepared.new_inputs = [steps, inputs, p, type = name.type](unsigned seed) {
    *inputs = SeededInputs(p, type, seed);
    const auto other = MakeSteps(p, onednn::DataType(type), *inputs);
    for (size_t i = 0; i < steps->size(); ++i) (*steps)[i].CopyTensors(other[i]);
  };
  return prepared;
}

[[maybe_unused]] const bool backend_registered = workload::RegisterBackend(
    {.op = "Attention", .device = "cpu", .library = "onednn", .prepare = Prepare});

}  // namespace
}  // namespace dlroof::attention
