// Attention/cpu/onednn by unfused primitives of oneDNN 3.x: a matmul writes the scores in f32, a
// binary adds the mask, a softmax writes the weights in the call's type, a matmul sums the values.
// With the option `graph` instead by the partitions into which oneDNN Graph divides its documented
// pattern of attention. Both ways compute all pairs, also those that the mask hides.
#include "bench/attention/onednn/backend.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <oneapi/dnnl/dnnl_graph.hpp>
#include <optional>
#include <utility>

namespace dlroof::attention {
namespace {

using dnnl::memory;
using onednn::CpuEngine;
using onednn::PlainDesc;

// A call by primitives or by a graph, ready to run.
struct Computation {
  std::function<void()> run;
  onednn::Arguments arguments;  // all tensors, with the same keys for all inputs of a call
  std::vector<int> weights;     // none
  memory result;
  std::string implementation;
  std::string scores, values;  // implementations of the two products
  size_t launches = 0;
  Scores stored = Scores::kF32;

  void Run() const { run(); }
};

bool HasMask(const AttentionProblem& p) { return p.causal != Causal::kNone || !p.lengths.empty(); }

// Returns the masks that are added to the scores: minus infinity where a query does not see a key,
// else 0. `masks`: p.b, or 1 if one mask serves all sequences.
std::vector<float> MaskOf(const AttentionProblem& p, int64_t masks) {
  std::vector<float> mask(static_cast<size_t>(masks * p.q * p.k),
                          -std::numeric_limits<float>::infinity());
  for (int64_t row = 0; row < masks * p.q; ++row) {
    const auto keys = KeysOf(p, row / p.q, row % p.q);
    std::fill_n(mask.begin() + row * p.k + keys.begin, keys.size(), 0.0F);
  }
  return mask;
}

}  // namespace

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
  auto& step = steps.emplace_back(onednn::CallOf<dnnl::matmul>(
      {CpuEngine(), a.get_desc(), b.get_desc(), to.get_desc(), attributes}));
  step.arguments = {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, to}};
  products.push_back(step.implementation);
}

onednn::Call& Steps::Binary(dnnl::algorithm algorithm, const memory& a, const memory& b,
                            const memory& to, const dnnl::post_ops& fused) {
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(fused);
  auto& step = steps.emplace_back(onednn::CallOf<dnnl::binary>(
      {CpuEngine(), algorithm, a.get_desc(), b.get_desc(), to.get_desc(), attributes}));
  step.arguments = {{DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, to}};
  return step;
}

void Steps::Mask(const AttentionProblem& p, const memory& scores) {
  if (!HasMask(p)) return;
  const int64_t masks = p.lengths.empty() ? 1 : p.b;
  const auto mask = owner.Filled(PlainDesc({masks, 1, p.q, p.k}, kF32), MaskOf(p, masks));
  const memory by_head(PlainDesc({p.b, p.h, p.q, p.k}, kF32), CpuEngine(),
                       scores.get_data_handle());
  Binary(dnnl::algorithm::binary_add, by_head, mask, by_head, {});
}

void Steps::Finish() {
  for (size_t i = 0; i < steps.size(); ++i) {
    steps[i].listed = onednn::ListedArguments(steps[i].arguments);
    implementation += (i == 0 ? "unfused " : " + ") + steps[i].implementation;
    for (const auto& [argument, tensor] : steps[i].arguments)
      arguments.emplace(static_cast<int>(i << 24) | argument, tensor);  // arguments are below 2^24
  }
}

double ExecutedOverUseful(const AttentionProblem& p) {
  return static_cast<double>(p.b * p.h * p.q * p.k) / static_cast<double>(Pairs(p));
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
  call.steps
      .emplace_back(onednn::CallOf<dnnl::softmax_forward>(
          {CpuEngine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::softmax_accurate,
           pairs, weights.get_desc(), 2}))
      .arguments = {{DNNL_ARG_SRC, scores}, {DNNL_ARG_DST, weights}};
  call.Product(weights, call.Filled(keys, in.v), call.New(queries), 1);
  call.Finish();
  return call;
}

namespace {

Computation ByPrimitives(const AttentionProblem& p, memory::data_type type, const Tensors& in) {
  const auto call = std::make_shared<const Steps>(ForwardSteps(p, type, in));
  return {.run = [call] { call->Run(); },
          .arguments = call->arguments,
          .result = call->steps.back().arguments.at(DNNL_ARG_DST),
          .implementation = call->implementation,
          .scores = call->products.front(),
          .values = call->products.back(),
          .launches = call->steps.size()};
}

using dnnl::graph::logical_tensor;
using Operation = dnnl::graph::op;

// Ids of a graph's inputs and of its result. The ids of all other tensors begin at kInner.
enum GraphTensorId : size_t { kQuery, kKey, kValue, kScale, kMask, kResult, kInner };

// The graph that oneDNN documents as "Scaled Dot-Product Attention" and, for shared heads, "Grouped
// Query Attention", whose products are 5-D. As documented, each sequence has its own mask: oneDNN
// 3.6 reads beyond the end of a mask that sequences share.
class Pattern {
 public:
  // `stored`: the type of the scores. `reshaped`: operations of the graph turn 4-D inputs into 5-D
  // ones, as oneDNN documents for shared heads; otherwise the inputs are 5-D. Throws dnnl::error if
  // an operation does not have these types in oneDNN.
  Pattern(const AttentionProblem& p, memory::data_type type, memory::data_type stored,
          bool reshaped)
      : reshaped_(reshaped) {
    const auto grouped = [&](memory::dim heads, memory::dim of_each, memory::dim m, memory::dim n) {
      return p.kv == p.h ? memory::dims{p.b, heads * of_each, m, n}
                         : memory::dims{p.b, heads, of_each, m, n};
    };
    const auto queries = grouped(p.kv, p.h / p.kv, p.q, p.d), keys = grouped(p.kv, 1, p.k, p.d),
               pairs = grouped(p.kv, p.h / p.kv, p.q, p.k), masks = grouped(1, 1, p.q, p.k);
    auto scores = Inner(stored, pairs);
    Add(Operation::kind::MatMul, "MatMul", {Input(kQuery, type, queries), Input(kKey, type, keys)},
        scores)
        .set_attr(Operation::attr::transpose_b, true);
    const auto next = [&](Operation::kind kind, const char* name, const logical_tensor& operand) {
      const auto result = Inner(stored, pairs);
      Add(kind, name, {std::exchange(scores, result), operand}, result);
    };
    next(Operation::kind::Multiply, "Multiply", Strided(kScale, kF32, {1}));
    if (HasMask(p)) next(Operation::kind::Add, "Add", Input(kMask, type, masks));
    const auto weights = Inner(type, pairs);
    Add(Operation::kind::SoftMax, "SoftMax", {scores}, weights)
        .set_attr<int64_t>(Operation::attr::axis, -1);
    const auto result = reshaped ? Inner(type, queries) : Strided(kResult, type, queries);
    Add(Operation::kind::MatMul, "MatMul", {weights, Input(kValue, type, keys)}, result);
    if (reshaped) Reshape(result, Strided(kResult, type, {p.b, p.h, p.q, p.d}));
  }

  std::vector<dnnl::graph::partition> Partitions() const {
    dnnl::graph::graph graph(dnnl::engine::kind::cpu);
    for (const auto& [operation, name] : operations_) graph.add_op(operation);
    graph.finalize();
    return graph.get_partitions();
  }
  std::vector<std::string> NamesOf(const dnnl::graph::partition& partition) const {
    std::vector<std::string> names;
    for (const size_t id : partition.get_ops()) names.push_back(operations_.at(id).second);
    return names;
  }

 private:
  static logical_tensor Strided(size_t id, memory::data_type type, const memory::dims& dims) {
    return {id, static_cast<logical_tensor::data_type>(type), dims,
            logical_tensor::layout_type::strided};
  }
  logical_tensor Inner(memory::data_type type, const memory::dims& dims) {
    return Strided(next_tensor_++, type, dims);
  }
  // Returns an input in the products' shape. A 4-D input joins the dimensions 1 and 2 of a 5-D one.
  logical_tensor Input(size_t id, memory::data_type type, const memory::dims& dims) {
    if (!reshaped_) return Strided(id, type, dims);
    const auto shaped = Inner(type, dims);
    Reshape(Strided(id, type, {dims[0], dims[1] * dims[2], dims[3], dims[4]}), shaped);
    return shaped;
  }
  Operation& Add(Operation::kind kind, const char* name, const std::vector<logical_tensor>& inputs,
                 const logical_tensor& result) {
    operations_.emplace_back(Operation(operations_.size(), kind, inputs, std::vector{result}, name),
                             name);
    return operations_.back().first;
  }
  void Reshape(const logical_tensor& from, const logical_tensor& to) {
    Add(Operation::kind::StaticReshape, "StaticReshape", {from}, to)
        .set_attr(Operation::attr::shape, to.get_dims())
        .set_attr(Operation::attr::special_zero, false);
  }

  bool reshaped_;
  size_t next_tensor_ = kInner;
  std::vector<std::pair<Operation, std::string>> operations_;  // with names; the index is the id
};

// A compiled partition of a pattern, with its tensors.
struct PartitionCall {
  dnnl::graph::compiled_partition compiled = {};
  std::vector<dnnl::graph::tensor> tensors = {};
  std::vector<const_dnnl_graph_tensor_t> inputs = {}, outputs = {};  // handles of `tensors`

  void Run() {
    dnnl::error::wrap_c_api(dnnl_graph_compiled_partition_execute(
                                compiled.get(), onednn::CpuStream().get(), inputs.size(),
                                inputs.data(), outputs.size(), outputs.data()),
                            "could not execute a partition");
    onednn::CpuStream().wait();
  }
};

struct Division {
  std::vector<dnnl::graph::partition> partitions;
  std::vector<GraphPartition> described;
  Scores stored = Scores::kF32;
};

// Returns the form of the pattern that the library divides into the fewest partitions. Older
// versions store scores only in the call's type; 3.2 has no reshapes, and 3.6 fuses shared heads
// only with reshapes. Throws Unsupported if oneDNN supports no form or was built without Graph.
Division Divide(const AttentionProblem& p, std::string_view type) {
  if (dlsym(RTLD_DEFAULT, "dnnl_graph_graph_create") == nullptr)
    throw Unsupported("oneDNN {} was built without oneDNN Graph", onednn::Version());
  const auto of_call = onednn::DataType(type);
  std::optional<Division> least;
  std::string refused = "its types";
  for (const auto stored : {kF32, of_call})
    for (const bool reshaped : {true, false}) try {
        if (reshaped && p.kv == p.h) continue;
        const Pattern pattern(p, of_call, stored, reshaped);
        Division found{.partitions = pattern.Partitions(),
                       .stored = stored == kF32 ? Scores::kF32 : Scores::kRounded};
        bool supported = true;
        for (const auto& partition : found.partitions) {
          found.described.push_back({pattern.NamesOf(partition)});
          if (partition.is_supported()) continue;
          supported = false;
          refused = fmt::format("{}", fmt::join(found.described.back().operations, "+"));
        }
        if (supported && (!least || found.partitions.size() < least->partitions.size()))
          least = std::move(found);
      } catch (const dnnl::error& error) {
        if (error.status != dnnl_invalid_graph_op) throw;
      }
  if (least) return *std::move(least);
  throw Unsupported("oneDNN {} does not support {} in a graph (attention {}, {})",
                    onednn::Version(), refused, type, onednn::EffectiveIsa());
}

struct GraphCall {
  onednn::Tensors tensors;
  std::map<size_t, memory> memories;  // by GraphTensorId
  std::vector<PartitionCall> partitions;
};

// Like partition.compile(), but does not leak the compiled partition if the library refuses it.
dnnl::graph::compiled_partition Compiled(const dnnl::graph::partition& partition, size_t inputs,
                                         size_t outputs) {
  using dnnl::error;
  std::vector<dnnl_graph_logical_tensor_t> ports(inputs + outputs);
  error::wrap_c_api(dnnl_graph_partition_get_input_ports(partition.get(), inputs, ports.data()),
                    "a partition's inputs are unknown");
  error::wrap_c_api(
      dnnl_graph_partition_get_output_ports(partition.get(), outputs, ports.data() + inputs),
      "a partition's outputs are unknown");
  std::vector<const dnnl_graph_logical_tensor_t*> pointers;
  for (const auto& port : ports) pointers.push_back(&port);
  dnnl_graph_compiled_partition_t handle = nullptr;
  error::wrap_c_api(dnnl_graph_compiled_partition_create(&handle, partition.get()),
                    "could not create a compiled partition");
  dnnl::graph::compiled_partition compiled(handle);
  error::wrap_c_api(
      dnnl_graph_partition_compile(partition.get(), handle, inputs, pointers.data(), outputs,
                                   pointers.data() + inputs, CpuEngine().get()),
      "could not compile a partition");
  return compiled;
}

Computation ByGraph(const AttentionProblem& p, std::string_view type, const Tensors& in) {
  auto division = Divide(p, type);
  const auto call = std::make_shared<GraphCall>();
  std::map<size_t, std::vector<float>> values = {
      {kQuery, Floats(in.q)},
      {kKey, Floats(in.k)},
      {kValue, Floats(in.v)},
      {kScale, {1 / std::sqrt(static_cast<float>(p.d))}}};
  if (HasMask(p)) values[kMask] = MaskOf(p, p.b);
  const auto bound = [&](const logical_tensor& tensor) {
    const auto id = tensor.get_id();
    const auto desc =
        PlainDesc(tensor.get_dims(), static_cast<memory::data_type>(tensor.get_data_type()));
    if (call->memories.count(id) == 0)
      call->memories.emplace(id, values.count(id) > 0 ? call->tensors.Filled(desc, values.at(id))
                                                      : call->tensors.Poisoned(desc));
    return dnnl::graph::tensor(tensor, CpuEngine(), call->memories.at(id).get_data_handle());
  };
  // If a partition came from the cache, the log would have no line about its primitives.
  dnnl::graph::set_compiled_partition_cache_capacity(0);
  for (size_t i = 0; i < division.partitions.size(); ++i) {
    const auto& partition = division.partitions[i];
    const auto inputs = partition.get_input_ports(), outputs = partition.get_output_ports();
    auto& made = call->partitions.emplace_back();
    const auto log = onednn::CreationLog(
        [&] { made.compiled = Compiled(partition, inputs.size(), outputs.size()); });
    division.described[i] = ReadGraphPartition(division.described[i].operations, log);
    for (const auto& implementation : division.described[i].implementations)
      onednn::RefuseReferenceLoops(implementation, WorkOf(p, type, {}, 1));
    for (const auto& input : inputs)
      made.inputs.push_back(made.tensors.emplace_back(bound(input)).get());
    for (const auto& output : outputs)
      made.outputs.push_back(made.tensors.emplace_back(bound(output)).get());
  }
  Computation result{.run =
                         [call] {
                           for (auto& partition : call->partitions) partition.Run();
                         },
                     .arguments = {call->memories.begin(), call->memories.end()},
                     .result = call->memories.at(kResult),
                     .implementation = GraphAlgorithm(division.described),
                     .launches = call->partitions.size(),
                     .stored = division.stored};
  if (const auto& first = division.described.front().implementations; !first.empty())
    result.scores = first.front();
  if (const auto& last = division.described.back().implementations; !last.empty())
    result.values = last.back();
  return result;
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const auto p = Read(name);
  if (name.direction == "bwd") return PrepareBackward(p, name.type, settings);
  RequireMemory(p, name.type);
  const auto make = [p, type = name.type,
                     graph = workload::HasOption(name, "graph")](const Tensors& in) {
    return graph ? ByGraph(p, type, in) : ByPrimitives(p, onednn::DataType(type), in);
  };
  const auto work = [&](const Computation& call) {
    // For a single query the library may use different pipes for the two products.
    return WorkOf(p, name.type,
                  {onednn::MatrixPipe(name.type, call.scores),
                   onednn::MatrixPipe(name.type, call.values), "fp32.vector"},
                  call.launches);
  };
  const auto check = [p, type = name.type, seed = settings.seed](const Tensors& in,
                                                                 const Computation& call) {
    const auto result = onednn::Plain(call.result);
    return Check(p, type, in, {result.begin(), result.end()}, seed, call.stored);
  };
  auto prepared = onednn::PrepareCall(
      settings, fmt::format("attention {}", name.type),
      [p, type = name.type](unsigned seed) { return SeededInputs(p, type, seed); }, work, make,
      check);
  prepared.explain.executed_over_useful = ExecutedOverUseful(p);
  return prepared;
}

[[maybe_unused]] const bool backend_registered = workload::RegisterBackend(
    {.op = "Attention", .device = "cpu", .library = "onednn", .prepare = Prepare});

}  // namespace
}  // namespace dlroof::attention
