#include "bench/onednn/call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "bench/workload/memory.h"

namespace dlroof::onednn {
namespace {

using dnnl::memory;

// A primitive with copies of its tensors in FoldedMemory.
struct FoldedCall {
  std::shared_ptr<const Call> call;
  std::vector<workload::FoldedMemory> copies;
  Arguments arguments;
  ArgumentList listed;
};

std::shared_ptr<const FoldedCall> MakeFolded(std::shared_ptr<const Call> call,
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

}  // namespace

workload::PreparedCall Folded(std::shared_ptr<const Call> call, double distinct_bytes) {
  workload::PreparedCall prepared{.algorithm = call->implementation};
  prepared.run = [folded = MakeFolded(std::move(call), distinct_bytes)] {
    Execute(folded->call->primitive, folded->listed);
  };
  return prepared;
}

const memory& Call::AddInput(int argument, const memory::desc& desc,
                             const std::vector<float>& values) {
  return arguments.insert_or_assign(argument, tensors.Filled(desc, values)).first->second;
}

const memory& Call::AddOutput(int argument, const memory::desc& desc) {
  return arguments.insert_or_assign(argument, tensors.Poisoned(desc)).first->second;
}

void Sequence::Finish() {
  std::vector<std::string> names;
  for (size_t i = 0; i < steps.size(); ++i) {
    steps[i].listed = ListedArguments(steps[i].arguments);
    // The arguments of a primitive with at most one post-op are below 2^16.
    const auto key = [&](int argument) { return static_cast<int>(i << 16U) | argument; };
    for (const auto& [argument, tensor] : steps[i].arguments)
      arguments.emplace(key(argument), tensor);
    for (const int argument : steps[i].weights) weights.push_back(key(argument));
    if (std::ranges::count(names, steps[i].implementation) == 0)
      names.push_back(steps[i].implementation);
  }
  implementation = fmt::format("{}", fmt::join(names, " + "));
}

void CopyTensors(const Arguments& from, const Arguments& to) {
  for (const auto& [argument, tensor] : to) {
    const auto& source = from.at(argument);
    if (source.get_desc() != tensor.get_desc())
      throw std::logic_error("the library chose another layout for the same call");
    std::memcpy(tensor.get_data_handle(), source.get_data_handle(), tensor.get_desc().get_size());
  }
}

void RefuseReferenceLoops(std::string_view implementation, const Work& work) {
  constexpr double kMaxFlops = 1e8;
  if (implementation.starts_with("ref") && TotalFlops(work).value_or(0) > kMaxFlops)
    throw Unsupported(
        "oneDNN has no kernel for this call on this CPU, only reference loops ({}), which would "
        "take seconds or minutes per call",
        implementation);
}

std::string PipeOf(const workload::ProductCase& product, const std::string& implementation) {
  const auto type = workload::ComputeType(product.types);
  const bool narrowed = type == "f32" && product.fpmath &&
                        (implementation.find("amx") != std::string::npos ||
                         implementation.find("bf16") != std::string::npos);
  return MatrixPipe(narrowed ? "bf16" : type, implementation);
}

void ProductCall::AddVariant(const workload::ProductCase& product,
                             const workload::ProductScales& scales,
                             const workload::ProductInputs& inputs, const memory::desc& bias) {
  if (product.bias) AddInput(DNNL_ARG_BIAS, bias, inputs.bias);
  if (!product.scales) return;
  const auto add = [&](int argument, const std::vector<float>& values) {
    const auto count = static_cast<memory::dim>(values.size());
    AddInput(DNNL_ARG_ATTR_SCALES | argument, PlainDesc({count}, memory::data_type::f32), values);
  };
  add(DNNL_ARG_SRC, {scales.source});
  add(DNNL_ARG_WEIGHTS, scales.weights);
  if (scales.destination != 1) add(DNNL_ARG_DST, {scales.destination});
}

void ProductCall::AddResult(int argument, const memory::desc& desc,
                            const std::vector<float>& addend) {
  output = argument;
  if (addend.empty())
    AddOutput(argument, desc);
  else
    AddInput(argument, desc, addend);
}

workload::ProductOutput<float> ProductCall::Output() const {
  workload::ProductOutput<float> read{Values(output)};
  if (bias_gradient) read.bias_gradient = Values(*bias_gradient);
  return read;
}

dnnl::primitive_attr AttributesOf(const workload::ProductCase& product,
                                  const workload::ProductScales& scales, int weights_mask) {
  dnnl::primitive_attr attributes;
  if (product.fpmath) attributes.set_fpmath_mode(FpmathMode(*product.fpmath));
  if (product.scales) {
    attributes.set_scales_mask(DNNL_ARG_SRC, 0);
    attributes.set_scales_mask(DNNL_ARG_WEIGHTS, weights_mask);
    if (scales.destination != 1) attributes.set_scales_mask(DNNL_ARG_DST, 0);
  }
  dnnl::post_ops fused;
  if (product.sum) fused.append_sum();
  if (product.eltwise) fused.append_eltwise(AlgorithmOf(*product.eltwise), 0, 0);
  if (fused.len() > 0) attributes.set_post_ops(fused);
  return attributes;
}

dnnl::prop_kind ForwardKind(const workload::ProductCase& product) {
  const bool inference = product.direction == ProductDirection::kForward && !product.training;
  return inference ? dnnl::prop_kind::forward_inference : dnnl::prop_kind::forward_training;
}

void RequireSupport(const workload::ProductCase& product, const workload::ProductSizes& sizes,
                    std::string_view int8_gradient_reason) {
  if (workload::IsInt8(product.types) && product.direction != ProductDirection::kForward)
    throw Unsupported(std::string(int8_gradient_reason));
  // A tensor needs host memory in its type and, while it is filled or read, as f32.
  const auto bytes = [](int64_t count, std::string_view type) {
    return static_cast<double>(4 * count + workload::StoredBytes(count, type));
  };
  const double addend = product.sum ? 4 * static_cast<double>(sizes.destination) : 0;
  // The check expands compressed weights to f32.
  const bool compressed = workload::HasCompressedWeights(product.types);
  const double expanded = compressed ? 4 * static_cast<double>(sizes.weights) : 0;
  workload::RequireHostMemory(
      bytes(sizes.source, product.types.source) + bytes(sizes.weights, product.types.weights) +
          bytes(sizes.destination, product.types.destination) + addend + expanded,
      sizes.problem);
}

}  // namespace dlroof::onednn
