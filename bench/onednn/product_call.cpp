#include "bench/onednn/product_call.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "bench/workload/memory.h"

namespace dlroof::onednn {
namespace {

using dnnl::memory;

// Refuses large problems for which oneDNN falls back to its reference loops. These are four orders
// of magnitude slower than its kernels (0.1 to 0.2 GFLOP/s on two cores), so a run would take too
// long and would not show the library's speed.
void RequireKernel(const products::ProductSizes& sizes, const std::string& implementation) {
  constexpr int64_t kMostFlops = 100'000'000;
  if (implementation.starts_with("ref") && sizes.flops > kMostFlops)
    throw Unsupported(
        "oneDNN has no kernel for this call on this CPU, only reference loops ({}), which would "
        "take seconds or minutes per call",
        implementation);
}

// Returns the pipe that computes. With fpmath the library may compute f32 in a narrower type, which
// the implementation's name shows by an instruction set that f32 itself cannot use.
std::string PipeOf(const products::ProductCase& one, const std::string& implementation) {
  const auto type = products::ComputeType(one.types);
  const bool narrowed = type == "f32" && one.fpmath &&
                        (implementation.find("amx") != std::string::npos ||
                         implementation.find("bf16") != std::string::npos);
  return MatrixPipe(narrowed ? "bf16" : type, implementation);
}

// The primitive of a call with folded copies of its tensors.
struct FoldedCall {
  std::shared_ptr<const ProductCall> call;
  std::vector<workload::FoldedMemory> copies;
  std::unordered_map<int, memory> arguments;
  ArgumentList listed;
};

std::shared_ptr<const FoldedCall> MakeFolded(std::shared_ptr<const ProductCall> call,
                                             double distinct_bytes) {
  auto folded = std::make_shared<FoldedCall>();
  std::vector<size_t> bytes;
  for (const auto& [argument, original] : call->arguments)
    bytes.push_back(original.get_desc().get_size());
  const auto distinct = workload::DistinctBytes(bytes, distinct_bytes);
  workload::RequireHostMemory(std::accumulate(distinct.begin(), distinct.end(), 0.0),
                              "a copy of the tensors");
  size_t i = 0;
  for (const auto& [argument, original] : call->arguments) {
    const auto& copy = folded->copies.emplace_back(bytes[i], distinct[i]);
    std::memcpy(copy.begin(), original.get_data_handle(), std::min(bytes[i], copy.distinct()));
    folded->arguments.emplace(argument, memory(original.get_desc(), CpuEngine(), copy.begin()));
    ++i;
  }
  folded->listed = ListedArguments(folded->arguments);
  folded->call = std::move(call);
  return folded;
}

workload::PreparedCall Folded(std::shared_ptr<const ProductCall> call, double distinct_bytes) {
  workload::PreparedCall prepared{.algorithm = call->implementation};
  prepared.run = [folded = MakeFolded(std::move(call), distinct_bytes)] {
    Execute(folded->call->primitive, folded->listed);
  };
  return prepared;
}

}  // namespace

void ProductCall::AddOutput(int argument, const memory::desc& target) {
  output = tensors.Poisoned(target);
  arguments.emplace(argument, output);
}

void ProductCall::AddVariant(const products::ProductCase& one,
                             const products::ProductScales& scales,
                             const products::ProductInputs& inputs, const memory::desc& bias) {
  if (one.bias) arguments.emplace(DNNL_ARG_BIAS, tensors.Filled(bias, inputs.bias));
  if (!one.scales) return;
  const auto add = [&](int argument, const std::vector<float>& values) {
    const auto count = static_cast<memory::dim>(values.size());
    arguments.emplace(DNNL_ARG_ATTR_SCALES | argument,
                      tensors.Filled(PlainDesc({count}, memory::data_type::f32), values));
  };
  add(DNNL_ARG_SRC, {scales.source});
  add(DNNL_ARG_WEIGHTS, scales.weights);
  if (scales.destination != 1) add(DNNL_ARG_DST, {scales.destination});
}

products::ProductOutput<float> ProductCall::Output() const {
  products::ProductOutput<float> read{Plain(output)};
  if (bias_gradient) read.bias_gradient = Plain(bias_gradient);
  return read;
}

dnnl::primitive_attr AttributesOf(const products::ProductCase& one,
                                  const products::ProductScales& scales, int weights_mask) {
  dnnl::primitive_attr attributes;
  if (one.fpmath) attributes.set_fpmath_mode(FpmathMode(*one.fpmath));
  if (one.scales) {
    attributes.set_scales_mask(DNNL_ARG_SRC, 0);
    attributes.set_scales_mask(DNNL_ARG_WEIGHTS, weights_mask);
    if (scales.destination != 1) attributes.set_scales_mask(DNNL_ARG_DST, 0);
  }
  if (one.relu) {
    dnnl::post_ops fused;
    fused.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
    attributes.set_post_ops(fused);
  }
  return attributes;
}

dnnl::prop_kind ForwardKind(const products::ProductCase& one) {
  const bool inference = one.direction == ProductDirection::kForward && !one.training;
  return inference ? dnnl::prop_kind::forward_inference : dnnl::prop_kind::forward_training;
}

void RequireSupport(const products::ProductCase& one, const products::ProductSizes& sizes,
                    std::string_view int8_gradient_reason) {
  if (products::IsInt8(one.types) && one.direction != ProductDirection::kForward)
    throw Unsupported(std::string(int8_gradient_reason));
  // Each tensor exists in its type and once more as f32, from which it is filled or read.
  const auto bytes = [](int64_t count, std::string_view type) {
    return static_cast<double>(count) * static_cast<double>(4 + workload::ElementBytes(type));
  };
  workload::RequireHostMemory(bytes(sizes.source, one.types.source) +
                                  bytes(sizes.weights, one.types.weights) +
                                  bytes(sizes.destination, one.types.destination),
                              sizes.problem);
}

workload::PreparedCall PreparedProduct(const products::ProductCase& one,
                                       const products::ProductSizes& sizes,
                                       std::shared_ptr<const ProductCall> call) {
  RequireKernel(sizes, call->implementation);
  workload::PreparedCall prepared{
      .algorithm = call->implementation,
      .isa = EffectiveIsa(),
      .modelled = products::ProductWork(one, sizes, PipeOf(one, call->implementation)),
      .memory = Regions(call->arguments, call->weights)};
  prepared.explain.folded = [call](double distinct_bytes) { return Folded(call, distinct_bytes); };
  prepared.run = [call = std::move(call)] { call->Run(); };
  return prepared;
}

}  // namespace dlroof::onednn
