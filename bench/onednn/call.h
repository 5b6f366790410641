// The execution of a oneDNN primitive: tensors, arguments, and the prepared call that a backend
// returns. Also the calls of operators that multiply a source by weights.
#pragma once

#include <dnnl.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bench/onednn/support.h"
#include "bench/workload/products.h"
#include "bench/workload/workload.h"

namespace dlroof::onednn {

// A primitive with everything needed to execute it.
struct Call {
  Tensors tensors;
  dnnl::primitive primitive;
  std::string implementation;
  std::unordered_map<int, dnnl::memory> arguments = {};
  std::vector<int> weights = {};  // keys of `arguments` that are trained parameters
  ArgumentList listed = {};       // `arguments` in the form for Execute; set by MakeShared

  // Add an argument and return its memory. Inputs get `values` (row-major). Outputs are set to NaN,
  // so that a check detects elements that are never written.
  const dnnl::memory& AddInput(int argument, const dnnl::memory::desc& desc,
                               const std::vector<float>& values);
  const dnnl::memory& AddOutput(int argument, const dnnl::memory::desc& desc);

  void Run() const { Execute(primitive, listed); }
  // Returns an argument's elements as f32, row-major.
  std::vector<float> Values(int argument) const { return Plain(arguments.at(argument)); }
};

inline dnnl::prop_kind ForwardKind(bool training) {
  return training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
}

// Returns a call for a primitive descriptor, without arguments.
template <class Primitive>
Call CallOf(const typename Primitive::primitive_desc& chosen) {
  return {{}, Primitive(chosen), chosen.impl_info_str()};
}

// Returns a prepared call without `verify`, with a folded copy of its tensors for `dlroof explain`.
// Throws Unsupported if oneDNN computes a large problem with its reference loops, which are four
// orders of magnitude slower than its kernels (0.1 to 0.2 GFLOP/s on two cores): the run would take
// too long and not show the library's speed.
workload::PreparedCall Prepared(const std::shared_ptr<const Call>& call, Work modelled);

// Returns make() as shared; it returns a Call or a derived type. Its primitives use
// `settings.threads` threads. `what` names the call in oneDNN's messages: "softmax fwd f16".
template <class Make>
auto MakeShared(const workload::RunSettings& settings, std::string_view what, Make make) {
  SetThreads(settings.threads);
  auto made = Translated(what, std::move(make));
  made.listed = ListedArguments(made.arguments);
  return std::make_shared<const decltype(made)>(std::move(made));
}

// Prepares the call returned by make(inputs). work(call) returns its modelled work. Once, the
// result is verified: before(inputs, call), one run, check(inputs, call), which returns a
// Verification. Then the inputs are freed, as they may take gigabytes that timed calls do not need.
struct DoNothing {
  template <class... Arguments>
  void operator()(const Arguments&... /*unused*/) const {}
};
template <class Inputs, class WorkOfCall, class Make, class Check, class Before = DoNothing>
workload::PreparedCall PrepareCall(const workload::RunSettings& settings, std::string_view what,
                                   Inputs inputs, WorkOfCall work, Make make, Check check,
                                   Before before = {}) {
  const auto kept = std::make_shared<Inputs>(std::move(inputs));
  const auto call = MakeShared(settings, what, [&] { return make(*kept); });
  auto prepared = Prepared(call, work(*call));
  prepared.verify = [call, kept, check, before] {
    before(*kept, *call);
    call->Run();
    auto found = check(*kept, *call);
    *kept = {};
    return found;
  };
  return prepared;
}

struct ProductCall : Call {
  int output = 0;                      // key of the result in `arguments`
  std::optional<int> bias_gradient{};  // the same for a bias gradient, if computed

  // Adds the result's memory, initialized with `addend` unless that is empty.
  void AddResult(int argument, const dnnl::memory::desc& desc,
                 const std::vector<float>& addend = {});
  // Adds the case's bias and scales.
  void AddVariant(const workload::ProductCase& product, const workload::ProductScales& scales,
                  const workload::ProductInputs& inputs, const dnnl::memory::desc& bias);

  workload::ProductOutput<float> Output() const;
};

// Returns attributes with the case's fpmath mode, post-ops and scales. Bit i of `weights_mask`: the
// weights have separate scales along dimension i.
dnnl::primitive_attr AttributesOf(const workload::ProductCase& product,
                                  const workload::ProductScales& scales, int weights_mask);

// Returns the propagation kind (training or inference) of a forward call, or of a gradient's
// forward hint.
dnnl::prop_kind ForwardKind(const workload::ProductCase& product);

// Create the call for one direction from its primitive descriptor.
template <class Primitive>
ProductCall ForwardCall(const typename Primitive::primitive_desc& chosen,
                        const workload::ProductCase& product, const workload::ProductScales& scales,
                        const workload::ProductInputs& inputs) {
  ProductCall call{CallOf<Primitive>(chosen)};
  call.AddInput(DNNL_ARG_SRC, chosen.src_desc(), inputs.source);
  call.AddInput(DNNL_ARG_WEIGHTS, chosen.weights_desc(), inputs.weights);
  call.AddResult(DNNL_ARG_DST, chosen.dst_desc(), inputs.addend);
  call.AddVariant(product, scales, inputs, chosen.bias_desc());
  return call;
}

template <class Primitive>
ProductCall BackwardDataCall(const typename Primitive::primitive_desc& chosen,
                             const workload::ProductInputs& inputs) {
  ProductCall call{CallOf<Primitive>(chosen)};
  call.AddInput(DNNL_ARG_DIFF_DST, chosen.diff_dst_desc(), inputs.destination);
  call.AddInput(DNNL_ARG_WEIGHTS, chosen.weights_desc(), inputs.weights);
  call.AddResult(DNNL_ARG_DIFF_SRC, chosen.diff_src_desc());
  return call;
}

template <class Primitive>
ProductCall BackwardWeightsCall(const typename Primitive::primitive_desc& chosen,
                                const workload::ProductCase& product,
                                const workload::ProductInputs& inputs) {
  ProductCall call{CallOf<Primitive>(chosen)};
  call.AddInput(DNNL_ARG_DIFF_DST, chosen.diff_dst_desc(), inputs.destination);
  call.AddInput(DNNL_ARG_SRC, chosen.src_desc(), inputs.source);
  call.AddResult(DNNL_ARG_DIFF_WEIGHTS, chosen.diff_weights_desc());
  if (product.bias) {
    call.bias_gradient = DNNL_ARG_DIFF_BIAS;
    call.AddOutput(DNNL_ARG_DIFF_BIAS, chosen.diff_bias_desc());
  }
  return call;
}

// Throws Unsupported for an int8 gradient, with the reason `int8_gradient_reason`, and if memory
// does not suffice for the call. Call before allocating memory.
void RequireSupport(const workload::ProductCase& product, const workload::ProductSizes& sizes,
                    std::string_view int8_gradient_reason);

// Returns the pipe of the matrix work. With an fpmath mode oneDNN may compute f32 in a narrower
// type: the implementation's name then contains an ISA that f32 itself cannot use.
std::string PipeOf(const workload::ProductCase& product, const std::string& implementation);

// Prepares the call returned by make(inputs). `what` names the call in messages.
template <class Case, class Make>
workload::PreparedCall PrepareProduct(const Case& product, const workload::RunSettings& settings,
                                      std::string_view what, Make make) {
  return PrepareCall(
      settings, what, workload::SeededInputs(product, settings.seed),
      [product](const auto& call) {
        return workload::ProductWork(product, PipeOf(product, call.implementation));
      },
      make,
      [product, seed = settings.seed](const auto& inputs, const ProductCall& call) {
        return workload::CheckOutput(product, inputs, call.Output(), seed);
      },
      // With the sum post-op each call adds to the previous result.
      [](workload::ProductInputs& inputs, const ProductCall& call) {
        if (!inputs.addend.empty()) inputs.addend = call.Output().values;
      });
}

}  // namespace dlroof::onednn
