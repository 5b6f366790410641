// One execution of a oneDNN primitive: its tensors, its arguments, and the prepared call that a
// backend returns. Nothing here depends on what the primitive computes.
#pragma once

#include <dnnl.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bench/onednn/support.h"
#include "bench/workload/workload.h"

namespace dlroof::onednn {

// A primitive with everything that its execution needs.
struct Call {
  Tensors tensors;
  dnnl::primitive primitive;
  std::string implementation;
  std::unordered_map<int, dnnl::memory> arguments = {};
  std::vector<int> weights = {};  // keys in `arguments` of trained parameters
  ArgumentList listed = {};       // `arguments` converted for Run; MakeShared sets it

  // Add an argument: with these values in row-major order, or without values, so that a check finds
  // elements that are never written. Both return its memory.
  const dnnl::memory& AddInput(int argument, const dnnl::memory::desc& desc,
                               const std::vector<float>& values);
  const dnnl::memory& AddOutput(int argument, const dnnl::memory::desc& desc);

  void Run() const { Execute(primitive, listed); }
  // Returns an argument's elements as f32 in row-major order.
  std::vector<float> Values(int argument) const { return Plain(arguments.at(argument)); }
};

inline dnnl::prop_kind ForwardKind(bool training) {
  return training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
}

// Returns the call of a primitive descriptor, without arguments.
template <class Primitive>
Call CallOf(const typename Primitive::primitive_desc& chosen) {
  return {{}, Primitive(chosen), chosen.impl_info_str()};
}

// Throws Unsupported where oneDNN computes a large problem with its reference loops. These are four
// orders of magnitude slower than its kernels (0.1 to 0.2 GFLOP/s on two cores), so a run would
// take too long and would not show the library's speed.
void RequireKernel(std::string_view implementation, double flops);

// Returns a prepared call with all members but `verify` and `levels`, with its folded copy for
// `dlroof explain`. Throws Unsupported as RequireKernel, with the FLOPs of `modelled`.
workload::PreparedCall Prepared(const std::shared_ptr<const Call>& call, Work modelled);

// Returns make(), which returns a Call or a type derived from it. Its primitives use
// `settings.threads` threads. `what` names the call in the library's messages: "softmax fwd f16".
template <class Make>
auto MakeShared(const workload::RunSettings& settings, std::string_view what, Make make) {
  SetThreads(settings.threads);
  auto made = Translated(what, std::move(make));
  made.listed = ListedArguments(made.arguments);
  return std::make_shared<const decltype(made)>(std::move(made));
}

// Prepares the call that make(inputs) returns. work(call) returns the modelled work of a call.
// check(inputs, call) judges its result once and returns a Verification; the inputs are freed then,
// because they may be gigabytes that the timed calls do not need. before(inputs, call) is called
// before the call that is judged.
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

}  // namespace dlroof::onednn
