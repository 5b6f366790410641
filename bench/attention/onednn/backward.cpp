// Attention/cpu/onednn/bwd by unfused primitives of oneDNN 3.x. The weights p = exp(scores -
// statistics) are computed again from q, k and a forward call's statistics; then dv = p^T do, dp =
// do v^T, ds = p (dp - sum of do o), dq = ds k, dk = ds^T q. Hidden pairs are computed, too.
#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

#include "bench/attention/onednn/backend.h"

namespace dlroof::attention {
namespace {

using dnnl::memory;
using onednn::CpuEngine;
using onednn::PlainDesc;

memory As(const memory& tensor, const memory::desc& desc) {
  return {desc, CpuEngine(), tensor.get_data_handle()};
}
// Returns a view of a batch of matrices as their transposes.
memory Transposed(const memory& tensor) {
  const auto desc = tensor.get_desc();
  const auto d = desc.get_dims();
  return As(tensor, {{d[0], d[2], d[1]}, desc.get_data_type(), memory::dims{d[1] * d[2], 1, d[2]}});
}

class Backward {
 public:
  Backward(const AttentionProblem& p, memory::data_type type, const Tensors& in,
           const BackwardInputs& backward)
      : type_(type) {
    const int64_t heads = p.b * p.kv, rows = p.h / p.kv * p.q;  // products; rows of a product
    const auto queries = PlainDesc({heads, rows, p.d}, type),
               keys = PlainDesc({heads, p.k, p.d}, type);
    const auto pairs = PlainDesc({heads, rows, p.k}, kF32),
               each = PlainDesc({heads, rows, 1}, kF32);
    const float scale = 1 / std::sqrt(static_cast<float>(p.d));
    const auto filled = [&](const memory::desc& desc, const std::vector<double>& values) {
      return tensors_.emplace_back(owner_.Filled(desc, Floats(values)));
    };
    const auto q = filled(queries, in.q), k = filled(keys, in.k), v = filled(keys, in.v);
    const auto o = filled(queries, backward.o), d_o = filled(queries, backward.d_o);
    const auto statistics = filled(each, backward.statistics);

    const auto weights = New(pairs);
    Product(q, Transposed(k), weights, scale);
    AppendMask(p, weights, steps_);
    dnnl::post_ops exponential;
    exponential.append_eltwise(dnnl::algorithm::eltwise_exp, 0, 0);
    Binary(dnnl::algorithm::binary_sub, weights, statistics, weights, exponential);
    const auto d_v = New(keys);
    Product(Transposed(Typed(weights)), d_o, d_v, 1);

    const auto d_scores = New(pairs), sums = New(each);
    const auto products = p.d == 1 ? sums : New(PlainDesc({heads, rows, p.d}, kF32));
    Product(d_o, Transposed(v), d_scores, 1);
    Binary(dnnl::algorithm::binary_mul, d_o, o, products, {});
    if (p.d > 1)  // oneDNN refuses a reduction along a dimension of size 1
      steps_
          .emplace_back(onednn::CallOf<dnnl::reduction>(
              {CpuEngine(), dnnl::algorithm::reduction_sum, products.get_desc(), each, 0, 0}))
          .arguments = {{DNNL_ARG_SRC, products}, {DNNL_ARG_DST, sums}};
    dnnl::post_ops weighted;
    weighted.append_binary(dnnl::algorithm::binary_mul, pairs);
    Binary(dnnl::algorithm::binary_sub, d_scores, sums, d_scores, weighted)
        .arguments[DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1] = weights;

    const auto rounded = Typed(d_scores), d_q = New(queries), d_k = New(keys);
    Product(rounded, k, d_q, scale);
    Product(Transposed(rounded), q, d_k, scale);
    gradients_ = {d_q, d_k, d_v};
    for (auto& step : steps_) {
      step.listed = onednn::ListedArguments(step.arguments);
      for (const auto& [argument, tensor] : step.arguments)
        if (argument == DNNL_ARG_SRC_1) tensors_.push_back(tensor);  // e.g. the mask
    }
  }

  void Run() const {
    for (const auto& step : steps_) step.Run();
  }
  const Steps& steps() const { return steps_; }
  const std::array<std::string, 5>& products() const { return products_; }
  // All tensors, some of them twice, in the same order for all inputs of a call.
  const std::vector<memory>& tensors() const { return tensors_; }
  Tensors Gradients() const {
    const auto read = [](const memory& tensor) {
      const auto values = onednn::Plain(tensor);
      return std::vector<double>(values.begin(), values.end());
    };
    return {read(gradients_[0]), read(gradients_[1]), read(gradients_[2])};
  }

 private:
  memory New(const memory::desc& desc) { return tensors_.emplace_back(owner_.Poisoned(desc)); }

  // Adds `to` = `factor` a b.
  void Product(const memory& a, const memory& b, const memory& to, float factor) {
    dnnl::primitive_attr attributes;
    dnnl::post_ops scaled;
    if (factor != 1) scaled.append_eltwise(dnnl::algorithm::eltwise_linear, factor, 0);
    attributes.set_post_ops(scaled);
    auto& step = steps_.emplace_back(onednn::CallOf<dnnl::matmul>(
        {CpuEngine(), a.get_desc(), b.get_desc(), to.get_desc(), attributes}));
    step.arguments = {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, to}};
    products_.at(made_products_++) = step.implementation;
  }

  onednn::Call& Binary(dnnl::algorithm algorithm, const memory& a, const memory& b,
                       const memory& to, const dnnl::post_ops& fused) {
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(fused);
    auto& step = steps_.emplace_back(onednn::CallOf<dnnl::binary>(
        {CpuEngine(), algorithm, a.get_desc(), b.get_desc(), to.get_desc(), attributes}));
    step.arguments = {{DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, to}};
    return step;
  }

  // Returns an f32 tensor rounded to the call's type by a further primitive, or f32 as it is.
  memory Typed(const memory& tensor) {
    if (type_ == kF32) return tensor;
    const auto rounded = New(PlainDesc(tensor.get_desc().get_dims(), type_));
    steps_.emplace_back(onednn::CallOf<dnnl::reorder>({tensor, rounded})).arguments = {
        {DNNL_ARG_FROM, tensor}, {DNNL_ARG_TO, rounded}};
    return rounded;
  }

  memory::data_type type_;
  onednn::Tensors owner_;
  std::vector<memory> tensors_;
  Steps steps_;
  std::array<std::string, 5> products_;  // implementation of each product
  size_t made_products_ = 0;
  std::array<memory, 3> gradients_;
};

struct Inputs {
  Tensors tensors;
  BackwardInputs backward;
};

// Returns seeded inputs with the result and statistics of a forward call, which it runs. Throws
// std::runtime_error if the result is wrong.
Inputs InputsOf(const AttentionProblem& p, const std::string& type, unsigned seed) {
  Inputs inputs{SeededInputs(p, type, seed), {}};
  const auto steps = ForwardSteps(p, onednn::DataType(type), inputs.tensors);
  for (const auto& step : steps) step.Run();
  const auto o = steps.back().Values(DNNL_ARG_DST), scores = steps.front().Values(DNNL_ARG_DST);
  inputs.backward = {{o.begin(), o.end()}, SeededGradient(p, type, seed), {}};
  for (int64_t query = 0; query < p.b * p.h * p.q; ++query) {
    const auto keys = KeysOf(p, query / (p.q * p.h), query % p.q);
    const float* const score = scores.data() + query * p.k;
    const double greatest = *std::max_element(score + keys.begin, score + keys.end);
    double sum = 0;
    for (int64_t key = keys.begin; key < keys.end; ++key) sum += std::exp(score[key] - greatest);
    inputs.backward.statistics.push_back(static_cast<float>(greatest + std::log(sum)));
  }
  for (const auto& found : {Check(p, type, inputs.tensors, inputs.backward.o, seed),
                            CheckStatistics(p, inputs.tensors, inputs.backward.statistics, seed)})
    if (!found.ok) throw std::runtime_error("the forward call " + workload::DifferenceText(found));
  return inputs;
}

}  // namespace

workload::PreparedCall PrepareBackward(const AttentionProblem& p, const std::string& type,
                                       const workload::RunSettings& settings) {
  RequireBackwardMemory(p, type);
  onednn::SetThreads(settings.threads);
  const auto made = [p, type](const Inputs& inputs) {
    return onednn::Translated("attention bwd " + type, [&] {
      return std::make_shared<const Backward>(p, onednn::DataType(type), inputs.tensors,
                                              inputs.backward);
    });
  };
  const auto inputs_of = [p, type](unsigned seed) {
    return onednn::Translated("attention fwd " + type, [&] { return InputsOf(p, type, seed); });
  };
  const auto inputs = std::make_shared<Inputs>(inputs_of(settings.seed));
  const auto call = made(*inputs);
  std::array<std::string, 5> pipes;
  for (size_t i = 0; i < pipes.size(); ++i)
    pipes.at(i) = onednn::MatrixPipe(type, call->products().at(i));
  std::unordered_map<int, memory> tensors;
  for (const auto& tensor : call->tensors())
    tensors.emplace(static_cast<int>(tensors.size()), tensor);
  workload::PreparedCall prepared{
      .algorithm = AlgorithmOf(call->steps()),
      .isa = onednn::EffectiveIsa(),
      .modelled = BackwardWorkOf(p, type, pipes, "fp32.vector", call->steps().size()),
      .memory = onednn::Regions(tensors, {})};
  for (const auto& product : call->products())
    onednn::RefuseReferenceLoops(product, prepared.modelled);
  prepared.explain.executed_over_useful =
      static_cast<double>(p.b * p.h * p.q * p.k) / static_cast<double>(Pairs(p));
  prepared.run = [call] { call->Run(); };
  prepared.verify = [call, inputs, p, type, seed = settings.seed] {
    call->Run();
    auto found =
        CheckGradients(p, type, inputs->tensors, inputs->backward, call->Gradients(), seed);
    *inputs = {};
    return found;
  };
  prepared.new_inputs = [call, inputs, inputs_of, made](unsigned seed) {
    *inputs = inputs_of(seed);
    const auto other = made(*inputs);
    for (size_t i = 0; i < call->tensors().size(); ++i)
      onednn::CopyTensor(other->tensors()[i], call->tensors()[i]);
  };
  return prepared;
}

}  // namespace dlroof::attention
