#include "bench/onednn/product_call.h"

#include "bench/workload/memory.h"

namespace dlroof::onednn {
namespace {

using dnnl::memory;

// Returns the pipe of the matrix work. With fpmath the library may compute f32 in a narrower type;
// in that case the implementation's name contains an ISA that f32 itself cannot use.
std::string PipeOf(const products::ProductCase& one, const std::string& implementation) {
  const auto type = products::ComputeType(one.types);
  const bool narrowed = type == "f32" && one.fpmath &&
                        (implementation.find("amx") != std::string::npos ||
                         implementation.find("bf16") != std::string::npos);
  return MatrixPipe(narrowed ? "bf16" : type, implementation);
}

}  // namespace

void ProductCall::AddVariant(const products::ProductCase& one,
                             const products::ProductScales& scales,
                             const products::ProductInputs& inputs, const memory::desc& bias) {
  if (one.bias) AddInput(DNNL_ARG_BIAS, bias, inputs.bias);
  if (!one.scales) return;
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

products::ProductOutput<float> ProductCall::Output() const {
  products::ProductOutput<float> read{Values(output)};
  if (bias_gradient) read.bias_gradient = Values(*bias_gradient);
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
  dnnl::post_ops fused;
  if (one.sum) fused.append_sum();
  if (one.eltwise) fused.append_eltwise(AlgorithmOf(*one.eltwise), 0, 0);
  if (fused.len() > 0) attributes.set_post_ops(fused);
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
  // The host stores each tensor in its type and as f32 (to fill the tensor, or to read it).
  const auto bytes = [](int64_t count, std::string_view type) {
    return static_cast<double>(count) * static_cast<double>(4 + workload::ElementBytes(type));
  };
  const double addend = one.sum ? 4 * static_cast<double>(sizes.destination) : 0;
  workload::RequireHostMemory(bytes(sizes.source, one.types.source) +
                                  bytes(sizes.weights, one.types.weights) +
                                  bytes(sizes.destination, one.types.destination) + addend,
                              sizes.problem);
}

Work ProductModel(const products::ProductCase& one, const products::ProductSizes& sizes,
                  const std::string& implementation) {
  return products::ProductWork(one, sizes, PipeOf(one, implementation));
}

}  // namespace dlroof::onednn
