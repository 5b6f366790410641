// Attention/cpu/onednn by unfused primitives of oneDNN 3.x: a matmul writes the scores in f32, a
// binary adds the mask, a softmax writes the weights in the call's type, a matmul sums the values.
// With the option `graph` instead by the partitions into which oneDNN Graph divides its documented
// pattern of attention. Both ways compute all pairs, also those that the mask hides.
#include "bench/attention/onednn/backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "bench/onednn/graph.h"
#include "counters/base/keys.h"

namespace dlroof::attention {

using dnnl::memory;
using onednn::CpuEngine;
using onednn::PlainDesc;

std::vector<float> Floats(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

memory Transposed(const memory& tensor) {
  const auto desc = tensor.get_desc();
  const auto d = desc.get_dims();
  const memory::dims dims = {d[0], d[2], d[1]}, strides = {d[1] * d[2], 1, d[2]};
  return {{dims, desc.get_data_type(), strides}, CpuEngine(), tensor.get_data_handle()};
}

void Steps::Product(const memory& a, const memory& b, const memory& to, float factor) {
  dnnl::primitive_attr attributes;
  dnnl::post_ops scaled;
  if (factor != 1) scaled.append_eltwise(dnnl::algorithm::eltwise_linear, factor, 0);
  attributes.set_post_ops(scaled);
  products.push_back(
      Add<dnnl::matmul>({CpuEngine(), a.get_desc(), b.get_desc(), to.get_desc(), attributes},
                        {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, to}})
          .implementation);
}

onednn::Call& Steps::Binary(dnnl::algorithm algorithm, const memory& a, const memory& b,
                            const memory& to, const dnnl::post_ops& fused) {
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(fused);
  return Add<dnnl::binary>(
      {CpuEngine(), algorithm, a.get_desc(), b.get_desc(), to.get_desc(), attributes},
      {{DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, to}});
}

void Steps::Mask(const AttentionProblem& p, const memory& scores) {
  if (!HasMask(p)) return;
  const int64_t masks = p.lengths.empty() ? 1 : p.b;
  const auto mask = owner.Filled(PlainDesc({masks, 1, p.q, p.k}, kF32), MaskOf(p, masks));
  const memory by_head(PlainDesc({p.b, p.h, p.q, p.k}, kF32), CpuEngine(),
                       scores.get_data_handle());
  Binary(dnnl::algorithm::binary_add, by_head, mask, by_head, {});
}

void Steps::End() {
  Finish();
  implementation = fmt::format(
      "unfused {}", fmt::join(VectorOf<std::string>(steps, &onednn::Call::implementation), " + "));
}

// One product has all query heads that share keys, so that the keys are read once.
Steps ForwardSteps(const AttentionProblem& p, memory::data_type type, const Tensors& in) {
  const int64_t products = p.b * p.kv, rows = p.h / p.kv * p.q;
  const auto queries = PlainDesc({products, rows, p.d}, type);
  const auto keys = PlainDesc({products, p.k, p.d}, type);
  const auto pairs = PlainDesc({products, rows, p.k}, kF32);
  Steps call(type);
  const auto scores = call.New(pairs), weights = call.New(PlainDesc(pairs.get_dims(), type));
  call.Product(call.Filled(queries, in.q), Transposed(call.Filled(keys, in.k)), scores,
               1 / std::sqrt(static_cast<float>(p.d)));
  call.Mask(p, scores);
  call.Add<dnnl::softmax_forward>({CpuEngine(), dnnl::prop_kind::forward_inference,
                                   dnnl::algorithm::softmax_accurate, pairs, weights.get_desc(), 2},
                                  {{DNNL_ARG_SRC, scores}, {DNNL_ARG_DST, weights}});
  call.result = call.New(queries);
  call.Product(weights, call.Filled(keys, in.v), call.result, 1);
  call.End();
  return call;
}

namespace {

using onednn::Graph;

// Throws Unsupported with what oneDNN Graph does not support: "SoftMax", "its types".
[[noreturn]] void RefuseGraph(std::string_view what, std::string_view type) {
  throw Unsupported("oneDNN {} does not support {} in a graph (attention {}, {})",
                    onednn::Version(), what, type, onednn::EffectiveIsa());
}

// Ids of a graph's inputs and of its result. The ids of all other tensors begin at kInner.
enum GraphTensorId : size_t { kQuery, kKey, kValue, kScale, kMask, kResult, kInner };

// Returns the graph that oneDNN documents as "Scaled Dot-Product Attention" and, for shared heads,
// "Grouped Query Attention", where operations of the graph reshape 4-D inputs to 5-D products. As
// documented, scores are f32, and each sequence has its own mask: oneDNN 3.6 reads beyond the end
// of a mask that sequences share. Throws dnnl::error if an operation does not have these types.
Graph PatternOf(const AttentionProblem& p, memory::data_type type) {
  Graph graph(kInner);
  const bool grouped = p.kv != p.h;
  const auto shape = [&](memory::dim heads, memory::dim of_each, memory::dim m, memory::dim n) {
    return grouped ? memory::dims{p.b, heads, of_each, m, n}
                   : memory::dims{p.b, heads * of_each, m, n};
  };
  const auto queries = shape(p.kv, p.h / p.kv, p.q, p.d), keys = shape(p.kv, 1, p.k, p.d),
             pairs = shape(p.kv, p.h / p.kv, p.q, p.k), masks = shape(1, 1, p.q, p.k);
  const auto input = [&](size_t id, const memory::dims& dims) {
    if (!grouped) return Graph::Strided(id, type, dims);
    const auto shaped = graph.Inner(type, dims);
    graph.AddReshape(Graph::Strided(id, type, {dims[0], dims[1] * dims[2], dims[3], dims[4]}),
                     shaped);
    return shaped;
  };
  using Operation = Graph::Operation;
  auto scores = graph.Inner(kF32, pairs);
  const auto q = input(kQuery, queries), k = input(kKey, keys);
  graph.Add(Operation::kind::MatMul, "MatMul", {q, k}, scores)
      .set_attr(Operation::attr::transpose_b, true);
  const auto next = [&](Operation::kind kind, const char* name, const Graph::Tensor& operand) {
    const auto result = graph.Inner(kF32, pairs);
    graph.Add(kind, name, {std::exchange(scores, result), operand}, result);
  };
  next(Operation::kind::Multiply, "Multiply", Graph::Strided(kScale, kF32, {1}));
  if (HasMask(p)) next(Operation::kind::Add, "Add", input(kMask, masks));
  const auto weights = graph.Inner(type, pairs);
  graph.Add(Operation::kind::SoftMax, "SoftMax", {scores}, weights)
      .set_attr<int64_t>(Operation::attr::axis, -1);
  const auto result = grouped ? graph.Inner(type, queries) : Graph::Strided(kResult, type, queries);
  graph.Add(Operation::kind::MatMul, "MatMul", {weights, input(kValue, keys)}, result);
  if (grouped) graph.AddReshape(result, Graph::Strided(kResult, type, {p.b, p.h, p.q, p.d}));
  return graph;
}

struct GraphCall : onednn::GraphCall {
  std::vector<std::string> products = {"", ""};  // implementations, as far as the log has them
  memory result{};
};

// Throws Unsupported if oneDNN does not support the pattern.
GraphCall ByGraph(const AttentionProblem& p, const std::string& type, const Tensors& in) try {
  const auto graph = PatternOf(p, onednn::DataType(type));
  std::map<size_t, std::vector<float>> values = {
      {kQuery, Floats(in.q)},
      {kKey, Floats(in.k)},
      {kValue, Floats(in.v)},
      {kScale, {1 / std::sqrt(static_cast<float>(p.d))}}};
  if (HasMask(p)) values[kMask] = MaskOf(p, p.b);
  const auto partitions = graph.Partitions();
  for (const auto& partition : partitions)
    if (!partition.is_supported())
      RefuseGraph(fmt::format("{}", fmt::join(graph.NamesOf(partition), "+")), type);
  GraphCall call;
  std::vector<GraphPartition> described;
  for (const auto& partition : partitions) {
    described.push_back(ReadGraphPartition(graph.NamesOf(partition), call.Add(partition, values)));
    for (const auto& implementation : described.back().implementations)
      onednn::RefuseReferenceLoops(implementation, WorkOf(p, type, {}, 1));
  }
  call.result = call.arguments.at(kResult);
  call.implementation = GraphAlgorithm(described);
  if (const auto& first = described.front().implementations; !first.empty())
    call.products.front() = first.front();
  if (const auto& last = described.back().implementations; !last.empty())
    call.products.back() = last.back();
  return call;
} catch (const dnnl::error& error) {
  if (error.status != dnnl_invalid_graph_op) throw;
  RefuseGraph("its types", type);
}

template <class Make>
workload::PreparedCall PrepareForward(const AttentionProblem& p, const std::string& type,
                                      const workload::RunSettings& settings, const Make& make) {
  RequireMemory(p, type);
  auto prepared = onednn::PrepareCall(
      settings, "attention " + type,
      [p, type](unsigned seed) { return SeededInputs(p, type, seed); },
      [&](const auto& call) {
        // For a single query the library may use different pipes for the two products.
        return WorkOf(p, type,
                      {onednn::MatrixPipe(type, call.products.front()),
                       onednn::MatrixPipe(type, call.products.back()), "fp32.vector"},
                      call.steps.size());
      },
      make,
      [p, type, seed = settings.seed](const Tensors& in, const auto& call) {
        const auto result = onednn::Plain(call.result);
        return Check(p, type, in, {result.begin(), result.end()}, seed);
      });
  prepared.explain.executed_over_useful = ExecutedOverUseful(p);
  return prepared;
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const auto p = Read(name);
  const auto& type = name.type;
  if (name.direction == "bwd") return PrepareBackward(p, type, settings);
  if (workload::HasOption(name, "graph"))
    return PrepareForward(p, type, settings,
                          [p, type](const Tensors& in) { return ByGraph(p, type, in); });
  return PrepareForward(p, type, settings, [p, type](const Tensors& in) {
    return ForwardSteps(p, onednn::DataType(type), in);
  });
}

[[maybe_unused]] const bool backend_registered = workload::RegisterBackend(
    {.op = "Attention", .device = "cpu", .library = "onednn", .prepare = Prepare});

}  // namespace
}  // namespace dlroof::attention
