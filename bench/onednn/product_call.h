// oneDNN calls of the operators that multiply a source by weights (bench/products).
#pragma once

#include <dnnl.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/onednn/call.h"
#include "bench/onednn/support.h"
#include "bench/products/case.h"
#include "bench/products/check.h"
#include "bench/workload/workload.h"

namespace dlroof::onednn {

struct ProductCall : Call {
  int output = 0;                      // the key in `arguments` of the result
  std::optional<int> bias_gradient{};  // likewise, if the call computes a gradient of the bias

  // Adds the result's memory, with `addend` in it unless that is empty.
  void AddResult(int argument, const dnnl::memory::desc& desc,
                 const std::vector<float>& addend = {});
  // Adds the case's bias and scales to `arguments`.
  void AddVariant(const products::ProductCase& one, const products::ProductScales& scales,
                  const products::ProductInputs& inputs, const dnnl::memory::desc& bias);

  products::ProductOutput<float> Output() const;
};

// Returns attributes with the case's fpmath mode, post-ops and scales. Bit i of `weights_mask`
// means that the scales of the weights differ along dimension i.
dnnl::primitive_attr AttributesOf(const products::ProductCase& one,
                                  const products::ProductScales& scales, int weights_mask);

// Returns the propagation kind (training, inference) of a forward call or a gradient's forward
// hint.
dnnl::prop_kind ForwardKind(const products::ProductCase& one);

// Create the call of one direction from a primitive descriptor.
template <class Primitive>
ProductCall ForwardCall(const typename Primitive::primitive_desc& chosen,
                        const products::ProductCase& one, const products::ProductScales& scales,
                        const products::ProductInputs& inputs) {
  ProductCall call{CallOf<Primitive>(chosen)};
  call.AddInput(DNNL_ARG_SRC, chosen.src_desc(), inputs.source);
  call.AddInput(DNNL_ARG_WEIGHTS, chosen.weights_desc(), inputs.weights);
  call.AddResult(DNNL_ARG_DST, chosen.dst_desc(), inputs.addend);
  call.AddVariant(one, scales, inputs, chosen.bias_desc());
  return call;
}

template <class Primitive>
ProductCall BackwardDataCall(const typename Primitive::primitive_desc& chosen,
                             const products::ProductInputs& inputs) {
  ProductCall call{CallOf<Primitive>(chosen)};
  call.AddInput(DNNL_ARG_DIFF_DST, chosen.diff_dst_desc(), inputs.destination);
  call.AddInput(DNNL_ARG_WEIGHTS, chosen.weights_desc(), inputs.weights);
  call.AddResult(DNNL_ARG_DIFF_SRC, chosen.diff_src_desc());
  return call;
}

template <class Primitive>
ProductCall BackwardWeightsCall(const typename Primitive::primitive_desc& chosen,
                                const products::ProductCase& one,
                                const products::ProductInputs& inputs) {
  ProductCall call{CallOf<Primitive>(chosen)};
  call.AddInput(DNNL_ARG_DIFF_DST, chosen.diff_dst_desc(), inputs.destination);
  call.AddInput(DNNL_ARG_SRC, chosen.src_desc(), inputs.source);
  call.AddResult(DNNL_ARG_DIFF_WEIGHTS, chosen.diff_weights_desc());
  if (one.bias) {
    call.bias_gradient = DNNL_ARG_DIFF_BIAS;
    call.AddOutput(DNNL_ARG_DIFF_BIAS, chosen.diff_bias_desc());
  }
  return call;
}

// Throws Unsupported for an int8 gradient, with the reason `int8_gradient_reason`, and if the
// machine lacks the memory for the call. Call it before allocating memory.
void RequireSupport(const products::ProductCase& one, const products::ProductSizes& sizes,
                    std::string_view int8_gradient_reason);

// Returns the work of a call, whose pipe the implementation determines.
Work ProductModel(const products::ProductCase& one, const products::ProductSizes& sizes,
                  const std::string& implementation);

// Prepares the call that `make(inputs)` creates. `what` names the call in error messages.
template <class Case, class Make>
workload::PreparedCall PrepareProduct(const Case& one, const workload::RunSettings& settings,
                                      std::string_view what, Make make) {
  return PrepareCall(
      settings, what, products::SeededInputs(one, settings.seed),
      [one](const auto& call) { return ProductModel(one, SizesOf(one), call.implementation); },
      make,
      [one, seed = settings.seed](const auto& inputs, const ProductCall& call) {
        return products::CheckOutput(one, inputs, call.Output(), seed);
      },
      // Each call adds to what the one before it left.
      [](products::ProductInputs& inputs, const ProductCall& call) {
        if (!inputs.addend.empty()) inputs.addend = call.Output().values;
      });
}

}  // namespace dlroof::onednn
