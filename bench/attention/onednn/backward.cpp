// Attention/cpu/onednn/bwd by unfused primitives of oneDNN 3.x. The weights p = exp(scores -
// statistics) are computed again from q, k and a forward call's statistics; then dv = p^T do, dp =
// do v^T, ds = p (dp - sum of do o), dq = ds k, dk = ds^T q. Hidden pairs are computed, too.
#include <cmath>
#include <stdexcept>
#include <utility>

#include "bench/attention/onednn/backend.h"

namespace dlroof::attention {
namespace {

using dnnl::memory;
using onednn::CpuEngine;
using onednn::PlainDesc;

struct Backward : Steps {
  Backward(const AttentionProblem& p, memory::data_type of_type, const Tensors& in,
           const BackwardInputs& backward)
      : Steps(of_type) {
    const int64_t heads = p.b * p.kv, rows = p.h / p.kv * p.q;  // products; rows of a product
    const auto queries = PlainDesc({heads, rows, p.d}, type),
               keys = PlainDesc({heads, p.k, p.d}, type);
    const auto pairs = PlainDesc({heads, rows, p.k}, kF32),
               each = PlainDesc({heads, rows, 1}, kF32);
    const float scale = 1 / std::sqrt(static_cast<float>(p.d));
    const auto q = Filled(queries, in.q), k = Filled(keys, in.k), v = Filled(keys, in.v);
    const auto o = Filled(queries, backward.o), d_o = Filled(queries, backward.d_o);
    const auto statistics = Filled(each, backward.statistics);

    const auto softmax = New(pairs);
    Product(q, Transposed(k), softmax, scale);
    Mask(p, softmax);
    dnnl::post_ops exponential;
    exponential.append_eltwise(dnnl::algorithm::eltwise_exp, 0, 0);
    Binary(dnnl::algorithm::binary_sub, softmax, statistics, softmax, exponential);
    const auto d_v = New(keys);
    Product(Transposed(Typed(softmax)), d_o, d_v, 1);

    const auto d_scores = New(pairs), sums = New(each);
    const auto row_products = p.d == 1 ? sums : New(PlainDesc({heads, rows, p.d}, kF32));
    Product(d_o, Transposed(v), d_scores, 1);
    Binary(dnnl::algorithm::binary_mul, d_o, o, row_products, {});
    if (p.d > 1)  // oneDNN refuses a reduction along a dimension of size 1
      Add<dnnl::reduction>(
          {CpuEngine(), dnnl::algorithm::reduction_sum, row_products.get_desc(), each, 0, 0},
          {{DNNL_ARG_SRC, row_products}, {DNNL_ARG_DST, sums}});
    dnnl::post_ops weighted;
    weighted.append_binary(dnnl::algorithm::binary_mul, pairs);
    Binary(dnnl::algorithm::binary_sub, d_scores, sums, d_scores, weighted)
        .arguments[DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1] = softmax;

    const auto rounded = Typed(d_scores), d_q = New(queries), d_k = New(keys);
    Product(rounded, k, d_q, scale);
    Product(Transposed(rounded), q, d_k, scale);
    gradients = {d_q, d_k, d_v};
    End();
  }

  Tensors Gradients() const {
    const auto read = [](const memory& tensor) {
      const auto values = onednn::Plain(tensor);
      return std::vector<double>(values.begin(), values.end());
    };
    return {read(gradients[0]), read(gradients[1]), read(gradients[2])};
  }

  // Returns an f32 tensor rounded to the call's type by a further primitive, or f32 as it is.
  memory Typed(const memory& tensor) {
    if (type == kF32) return tensor;
    const auto rounded = New(PlainDesc(tensor.get_desc().get_dims(), type));
    Add<dnnl::reorder>({tensor, rounded}, {{DNNL_ARG_FROM, tensor}, {DNNL_ARG_TO, rounded}});
    return rounded;
  }

  std::array<memory, 3> gradients;
};

struct Inputs {
  Tensors tensors;
  BackwardInputs backward;
};

// Returns seeded inputs with the result and statistics of a forward call, which it runs. Throws
// std::runtime_error if the result is wrong.
Inputs InputsOf(const AttentionProblem& p, const std::string& type, unsigned seed) {
  Inputs inputs{SeededInputs(p, type, seed), {}};
  const auto call = ForwardSteps(p, onednn::DataType(type), inputs.tensors);
  call.Run();
  const auto o = onednn::Plain(call.result);
  inputs.backward = {{o.begin(), o.end()},
                     SeededGradient(p, type, seed),
                     StatisticsOf(p, call.steps.front().Values(DNNL_ARG_DST))};
  for (const auto& found : {Check(p, type, inputs.tensors, inputs.backward.o, seed),
                            CheckStatistics(p, inputs.tensors, inputs.backward.statistics, seed)})
    if (!found.ok) throw std::runtime_error("the forward call " + workload::DifferenceText(found));
  return inputs;
}

}  // namespace

workload::PreparedCall PrepareBackward(const AttentionProblem& p, const std::string& type,
                                       const workload::RunSettings& settings) {
  RequireMemory(p, type, true);
  const auto inputs_of = [p, type](unsigned seed) {
    return onednn::Translated("attention fwd " + type, [&] { return InputsOf(p, type, seed); });
  };
  const auto work = [&](const Backward& call) {
    std::array<std::string, 5> pipes;
    for (size_t i = 0; i < pipes.size(); ++i)
      pipes.at(i) = onednn::MatrixPipe(type, call.products.at(i));
    auto modelled = BackwardWorkOf(p, type, pipes, "fp32.vector", call.steps.size());
    for (const auto& product : call.products) onednn::RefuseReferenceLoops(product, modelled);
    return modelled;
  };
  auto prepared = onednn::PrepareCall(
      settings, "attention bwd " + type, inputs_of, work,
      [p, type](const Inputs& in) {
        return Backward(p, onednn::DataType(type), in.tensors, in.backward);
      },
      [p, type, seed = settings.seed](const Inputs& in, const Backward& call) {
        return CheckGradients(p, type, in.tensors, in.backward, call.Gradients(), seed);
      });
  prepared.explain.executed_over_useful = ExecutedOverUseful(p);
  return prepared;
}

}  // namespace dlroof::attention
