// One call of an operator that multiplies a source by weights (bench/products), by a oneDNN
// primitive of any kind.
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

// Owns what one execution needs.
struct ProductCall {
  Tensors tensors;
  dnnl::primitive primitive;
  std::string implementation;
  std::unordered_map<int, dnnl::memory> arguments = {};
  dnnl::memory output = {};
  dnnl::memory bias_gradient = {};  // empty: the call makes none
  std::vector<int> weights = {};    // arguments that are trained parameters
  ArgumentList listed = {};         // the arguments, as Run wants them

  // Takes the result's memory, which the call must fill.
  void AddOutput(int argument, const dnnl::memory::desc& target);
  // Adds bias and scales, where the case has them.
  void AddVariant(const products::ProductCase& one, const products::ProductScales& scales,
                  const products::ProductInputs& inputs, const dnnl::memory::desc& bias);

  void Run() const { Execute(primitive, listed); }
  products::ProductOutput<float> Output() const;
};

// fpmath, relu, and the places of scales. `weights_mask`: the dimensions of the weights along which
// their scales differ.
dnnl::primitive_attr AttributesOf(const products::ProductCase& one,
                                  const products::ProductScales& scales, int weights_mask);

// The kind of a forward call, and of the one that a gradient's descriptor asks for.
dnnl::prop_kind ForwardKind(const products::ProductCase& one);

// Calls of a primitive with a descriptor, for a case of that direction.
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

// Throws before anything is allocated: for an int8 gradient, with that reason, and where the
// machine lacks the memory.
void RequireSupport(const products::ProductCase& one, const products::ProductSizes& sizes,
                    std::string_view why_no_int8_gradient);

// Fills all but `verify` and `levels`. Throws Unsupported where oneDNN's last resort, its reference
// loops, would run a large problem.
workload::PreparedCall PreparedProduct(const products::ProductCase& one,
                                       const products::ProductSizes& sizes,
                                       std::shared_ptr<const ProductCall> call);

// Prepares a call that `make(inputs)` makes. `what` names it in refusals.
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
    *inputs = {};  // up to gigabytes that the timed calls do not need
    return found;
  };
  return prepared;
}

}  // namespace dlroof::onednn
