// Calls of operators that multiply a source by weights (bench/products), by oneDNN primitives.
#pragma once

#include <dnnl.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/onednn/support.h"
#include "bench/products/case.h"
#include "bench/products/check.h"
#include "bench/workload/workload.h"

namespace dlroof::onednn {

// Owns everything that one execution needs.
struct ProductCall {
  Tensors tensors;
  dnnl::primitive primitive;
  std::string implementation;
  std::unordered_map<int, dnnl::memory> arguments = {};
  dnnl::memory output = {};
  dnnl::memory bias_gradient = {};  // set if the call computes it
  std::vector<int> weights = {};    // the keys of arguments that are trained parameters
  ArgumentList listed = {};         // `arguments` in the form that Run needs

  // Allocates the memory of the result as `argument`.
  void AddOutput(int argument, const dnnl::memory::desc& target);
  // Adds the case's bias and scales.
  void AddVariant(const products::ProductCase& one, const products::ProductScales& scales,
                  const products::ProductInputs& inputs, const dnnl::memory::desc& bias);

  void Run() const { Execute(primitive, listed); }
  products::ProductOutput<float> Output() const;
};

// Returns attributes with the case's fpmath mode, relu and scales. `weights_mask` selects the
// dimensions of the weights along which their scales differ.
dnnl::primitive_attr AttributesOf(const products::ProductCase& one,
                                  const products::ProductScales& scales, int weights_mask);

// Returns the kind of a forward call, or of the forward hint that a gradient's descriptor needs.
dnnl::prop_kind ForwardKind(const products::ProductCase& one);

// These make a call from a primitive descriptor of their direction.
template <class Primitive>
ProductCall ForwardCall(const typename Primitive::primitive_desc& chosen,
                        const products::ProductCase& one, const products::ProductScales& scales,
                        const products::ProductInputs& inputs) {
  ProductCall call{{}, Primitive(chosen), chosen.impl_info_str()};
  call.arguments = {{DNNL_ARG_SRC, call.tensors.Filled(chosen.src_desc(), inputs.source)},
                    {DNNL_ARG_WEIGHTS, call.tensors.Filled(chosen.weights_desc(), inputs.weights)}};
  call.AddOutput(DNNL_ARG_DST, chosen.dst_desc());
  call.AddVariant(one, scales, inputs, chosen.bias_desc());
  return call;
}

template <class Primitive>
ProductCall BackwardDataCall(const typename Primitive::primitive_desc& chosen,
                             const products::ProductInputs& inputs) {
  ProductCall call{{}, Primitive(chosen), chosen.impl_info_str()};
  call.arguments = {
      {DNNL_ARG_DIFF_DST, call.tensors.Filled(chosen.diff_dst_desc(), inputs.destination)},
      {DNNL_ARG_WEIGHTS, call.tensors.Filled(chosen.weights_desc(), inputs.weights)}};
  call.AddOutput(DNNL_ARG_DIFF_SRC, chosen.diff_src_desc());
  return call;
}

template <class Primitive>
ProductCall BackwardWeightsCall(const typename Primitive::primitive_desc& chosen,
                                const products::ProductCase& one,
                                const products::ProductInputs& inputs) {
  ProductCall call{{}, Primitive(chosen), chosen.impl_info_str()};
  call.arguments = {
      {DNNL_ARG_DIFF_DST, call.tensors.Filled(chosen.diff_dst_desc(), inputs.destination)},
      {DNNL_ARG_SRC, call.tensors.Filled(chosen.src_desc(), inputs.source)}};
  call.AddOutput(DNNL_ARG_DIFF_WEIGHTS, chosen.diff_weights_desc());
  if (one.bias) {
    call.bias_gradient = call.tensors.Poisoned(chosen.diff_bias_desc());
    call.arguments.emplace(DNNL_ARG_DIFF_BIAS, call.bias_gradient);
  }
  return call;
}

// Throws Unsupported for an int8 gradient, with `int8_gradient_reason`, and if the machine lacks
// the memory. Call it before anything is allocated.
void RequireSupport(const products::ProductCase& one, const products::ProductSizes& sizes,
                    std::string_view int8_gradient_reason);

// Fills everything but `verify` and `levels`. Throws Unsupported if oneDNN would run a large
// problem with its reference loops.
workload::PreparedCall PreparedProduct(const products::ProductCase& one,
                                       const products::ProductSizes& sizes,
                                       std::shared_ptr<const ProductCall> call);

// Prepares the call that `make(inputs)` returns. `what` names it in error messages.
template <class Case, class Make>
workload::PreparedCall PrepareProduct(const Case& one, const workload::RunSettings& settings,
                                      std::string_view what, Make make) {
  SetThreads(settings.threads);
  const auto inputs =
      std::make_shared<products::ProductInputs>(products::SeededInputs(one, settings.seed));
  const auto call = std::make_shared<const ProductCall>(Translated(what, [&] {
    ProductCall made = make(*inputs);
    made.listed = ListedArguments(made.arguments);
    return made;
  }));
  auto prepared = PreparedProduct(one, SizesOf(one), call);
  prepared.verify = [one, call, inputs, seed = settings.seed] {
    call->Run();
    auto found = products::CheckOutput(one, *inputs, call->Output(), seed);
    *inputs = {};  // frees up to gigabytes that the timed calls do not need
    return found;
  };
  return prepared;
}

}  // namespace dlroof::onednn
