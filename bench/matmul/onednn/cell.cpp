// Matmul/cpu/onednn: matrix products through oneDNN 3.x, by its matmul primitive or, with the
// option ip, by its inner product. A matmul takes matrices in the order that the name says, an
// inner product and a matmul with the option `any` in the library's own order. Reorders happen
// once, outside the timing.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <unordered_map>

#include "bench/matmul/check.h"
#include "bench/matmul/onednn_levels.h"
#include "bench/onednn/support.h"
#include "bench/workload/host_memory.h"

namespace dlroof {
namespace {

using dnnl::memory;
using dnnl::prop_kind;

// Owns what one execution needs.
struct Call {
  onednn::Tensors tensors;
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
  onednn::ArgumentList listed;  // the same, as Run wants them
  memory output;
  memory bias_gradient;      // empty: the call makes none
  std::vector<int> weights;  // arguments that are trained parameters
  std::string implementation;

  void Run() const { onednn::Execute(primitive, listed); }

  MatmulOutput<float> Output() const {
    MatmulOutput<float> read{onednn::Plain(output)};
    if (bias_gradient) read.bias_gradient = onednn::Plain(bias_gradient);
    return read;
  }
};

dnnl::primitive_attr AttributesOf(const MatmulCase& matmul) {
  dnnl::primitive_attr attributes;
  if (!matmul.fpmath.empty()) attributes.set_fpmath_mode(onednn::FpmathMode(matmul.fpmath));
  if (matmul.scales) {
    // One per column: a matmul's last dimension, an inner product's first.
    const int per_column = matmul.ip ? 1 : matmul.problem.b > 1 ? 4 : 2;
    attributes.set_scales_mask(DNNL_ARG_SRC, 0);
    attributes.set_scales_mask(DNNL_ARG_WEIGHTS, per_column);
    if (MatmulScalesOf(matmul).destination != 1) attributes.set_scales_mask(DNNL_ARG_DST, 0);
  }
  if (matmul.relu) {
    dnnl::post_ops fused;
    fused.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
    attributes.set_post_ops(fused);
  }
  return attributes;
}

void AddScales(const MatmulCase& matmul, Call& call) {
  if (!matmul.scales) return;
  const auto scales = MatmulScalesOf(matmul);
  const auto add = [&](int argument, const std::vector<float>& values) {
    const auto count = static_cast<memory::dim>(values.size());
    call.arguments.emplace(
        DNNL_ARG_ATTR_SCALES | argument,
        call.tensors.Filled(onednn::PlainDesc({count}, memory::data_type::f32), values));
  };
  add(DNNL_ARG_SRC, {scales.source});
  add(DNNL_ARG_WEIGHTS, scales.weights);
  if (scales.destination != 1) add(DNNL_ARG_DST, {scales.destination});
}

// Two dimensions, or three with a batch.
memory::dims Dimensions(int64_t batch, int64_t rows, int64_t columns) {
  if (batch == 1) return {rows, columns};
  return {batch, rows, columns};
}

memory::desc BiasDesc(const MatmulCase& matmul) {
  memory::dims dims = {1, matmul.problem.n};
  if (matmul.problem.b > 1) dims.insert(dims.begin(), 1);
  return onednn::PlainDesc(dims, onednn::DataType(BiasType(matmul.types)));
}

// The descriptor of a factor whose transpose lies in memory row by row.
memory::desc TransposedDesc(int64_t batch, int64_t rows, int64_t columns, memory::data_type type) {
  if (batch == 1) return {{rows, columns}, type, memory::dims{1, rows}};
  return {{batch, rows, columns}, type, memory::dims{rows * columns, 1, rows}};
}

// Returns the memory of a factor: filled as it lies in memory, read as it is multiplied.
memory FilledFactor(Call& call, const memory::desc& desc, bool transposed,
                    const std::vector<float>& values) {
  if (!transposed) return call.tensors.Filled(desc, values);
  auto dims = desc.get_dims();
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  const auto plain = call.tensors.Filled(onednn::PlainDesc(dims, desc.get_data_type()), values);
  return {desc, onednn::CpuEngine(), plain.get_data_handle()};
}

Call PrepareMatmul(const MatmulCase& matmul, const MatmulInputs& inputs) {
  const auto p = ProductOf(matmul);
  const auto desc = [&](int64_t rows, int64_t columns, Matrix matrix, bool transposed) {
    const auto type = onednn::DataType(TypeOf(matmul.types, matrix));
    if (transposed) return TransposedDesc(p.batch, rows, columns, type);
    const auto dims = Dimensions(p.batch, rows, columns);
    if (matmul.any) return memory::desc(dims, type, memory::format_tag::any);
    return onednn::PlainDesc(dims, type);
  };
  const auto bias = matmul.bias ? BiasDesc(matmul) : memory::desc();
  const dnnl::matmul::primitive_desc chosen(
      onednn::CpuEngine(), desc(p.rows, p.depth, p.left.matrix, p.left.transposed),
      desc(p.depth, p.columns, p.right.matrix, p.right.transposed), bias,
      desc(p.rows, p.columns, p.result, false), AttributesOf(matmul));
  Call call;
  call.primitive = dnnl::matmul(chosen);
  call.implementation = chosen.impl_info_str();
  call.arguments = {{DNNL_ARG_SRC, FilledFactor(call, chosen.src_desc(), p.left.transposed,
                                                inputs.Of(p.left.matrix))},
                    {DNNL_ARG_WEIGHTS, FilledFactor(call, chosen.weights_desc(), p.right.transposed,
                                                    inputs.Of(p.right.matrix))}};
  call.output = call.tensors.Poisoned(chosen.dst_desc());
  call.arguments.emplace(DNNL_ARG_DST, call.output);
  if (matmul.bias) call.arguments.emplace(DNNL_ARG_BIAS, call.tensors.Filled(bias, inputs.bias));
  AddScales(matmul, call);
  call.weights = {p.left.matrix == Matrix::kB    ? DNNL_ARG_SRC
                  : p.right.matrix == Matrix::kB ? DNNL_ARG_WEIGHTS
                                                 : DNNL_ARG_DST,
                  DNNL_ARG_BIAS};
  return call;
}

// The descriptors of an inner product: every order is the library's choice.
struct InnerShape {
  memory::desc source, weights, destination, bias;  // without bias an empty one
};

InnerShape InnerShapeOf(const MatmulCase& matmul) {
  const auto& p = matmul.problem;
  const auto desc = [](const memory::dims& dims, std::string_view type) {
    return memory::desc(dims, onednn::DataType(type), memory::format_tag::any);
  };
  return {desc({p.m, p.k}, matmul.types.source), desc({p.n, p.k}, matmul.types.weights),
          desc({p.m, p.n}, matmul.types.destination),
          matmul.bias ? desc({p.n}, BiasType(matmul.types)) : memory::desc()};
}

dnnl::inner_product_forward::primitive_desc InnerForward(const MatmulCase& matmul,
                                                         const InnerShape& shape) {
  const bool inference = matmul.direction == MatmulDirection::kForward && !matmul.training;
  const auto kind = inference ? prop_kind::forward_inference : prop_kind::forward_training;
  return {onednn::CpuEngine(), kind, shape.source, shape.weights, shape.bias, shape.destination,
          AttributesOf(matmul)};
}

Call PrepareInnerForward(const MatmulCase& matmul, const MatmulInputs& inputs) {
  const auto chosen = InnerForward(matmul, InnerShapeOf(matmul));
  Call call;
  call.primitive = dnnl::inner_product_forward(chosen);
  call.implementation = chosen.impl_info_str();
  call.arguments = {{DNNL_ARG_SRC, call.tensors.Filled(chosen.src_desc(), inputs.a)},
                    {DNNL_ARG_WEIGHTS, call.tensors.Filled(chosen.weights_desc(), inputs.b)}};
  call.output = call.tensors.Poisoned(chosen.dst_desc());
  call.arguments.emplace(DNNL_ARG_DST, call.output);
  if (matmul.bias)
    call.arguments.emplace(DNNL_ARG_BIAS, call.tensors.Filled(chosen.bias_desc(), inputs.bias));
  AddScales(matmul, call);
  call.weights = {DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS};
  return call;
}

Call PrepareInnerBackwardData(const MatmulCase& matmul, const MatmulInputs& inputs) {
  const auto shape = InnerShapeOf(matmul);
  const dnnl::inner_product_backward_data::primitive_desc chosen(
      onednn::CpuEngine(), shape.source, shape.weights, shape.destination,
      InnerForward(matmul, shape), AttributesOf(matmul));
  Call call;
  call.primitive = dnnl::inner_product_backward_data(chosen);
  call.implementation = chosen.impl_info_str();
  call.arguments = {{DNNL_ARG_DIFF_DST, call.tensors.Filled(chosen.diff_dst_desc(), inputs.c)},
                    {DNNL_ARG_WEIGHTS, call.tensors.Filled(chosen.weights_desc(), inputs.b)}};
  call.output = call.tensors.Poisoned(chosen.diff_src_desc());
  call.arguments.emplace(DNNL_ARG_DIFF_SRC, call.output);
  call.weights = {DNNL_ARG_WEIGHTS};
  return call;
}

Call PrepareInnerBackwardWeights(const MatmulCase& matmul, const MatmulInputs& inputs) {
  const auto shape = InnerShapeOf(matmul);
  const dnnl::inner_product_backward_weights::primitive_desc chosen(
      onednn::CpuEngine(), shape.source, shape.weights, shape.bias, shape.destination,
      InnerForward(matmul, shape), AttributesOf(matmul));
  Call call;
  call.primitive = dnnl::inner_product_backward_weights(chosen);
  call.implementation = chosen.impl_info_str();
  call.arguments = {{DNNL_ARG_DIFF_DST, call.tensors.Filled(chosen.diff_dst_desc(), inputs.c)},
                    {DNNL_ARG_SRC, call.tensors.Filled(chosen.src_desc(), inputs.a)}};
  call.output = call.tensors.Poisoned(chosen.diff_weights_desc());
  call.arguments.emplace(DNNL_ARG_DIFF_WEIGHTS, call.output);
  if (matmul.bias) {
    call.bias_gradient = call.tensors.Poisoned(chosen.diff_bias_desc());
    call.arguments.emplace(DNNL_ARG_DIFF_BIAS, call.bias_gradient);
  }
  call.weights = {DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS};
  return call;
}

Call PrepareCall(const MatmulCase& matmul, const MatmulInputs& inputs) {
  const auto make = !matmul.ip                                      ? PrepareMatmul
                    : matmul.direction == MatmulDirection::kForward ? PrepareInnerForward
                    : matmul.direction == MatmulDirection::kBackwardData
                        ? PrepareInnerBackwardData
                        : PrepareInnerBackwardWeights;
  Call call = make(matmul, inputs);
  call.listed = onednn::ListedArguments(call.arguments);
  return call;
}

// Throws before anything is allocated.
void RequireSupport(const MatmulCase& matmul) {
  if (IsInt8(matmul.types) && matmul.direction != MatmulDirection::kForward)
    throw Unsupported("int8 products have no backward pass: they have fwd alone");
  // Each matrix in its type and once more as f32, to fill it or to read it.
  const auto bytes = [](int64_t count, std::string_view type) {
    return static_cast<double>(count) * static_cast<double>(4 + MatmulElementBytes(type));
  };
  const auto& p = matmul.problem;
  RequireHostMemory(bytes(CountA(p), matmul.types.source) + bytes(CountB(p), matmul.types.weights) +
                        bytes(CountC(p), matmul.types.destination),
                    ToText(p));
}

// Refuses oneDNN's last resort for large problems: plain loops, seconds or minutes a call.
void RequireKernel(const MatmulCase& matmul, const std::string& implementation) {
  constexpr int64_t kMostFlops = 100'000'000;
  if (implementation.starts_with("ref") && DenseFlops(matmul.problem) > kMostFlops)
    throw Unsupported(
        fmt::format("oneDNN has no kernel for this here, only its reference loops ({}): seconds or "
                    "minutes a call",
                    implementation));
}

// Returns the unit that computes. With fpmath the library may compute f32 in a narrower type: it
// does where the implementation's name has an instruction set that f32 itself cannot use.
std::string PipeOf(const MatmulCase& matmul, const std::string& implementation) {
  const auto type = std::string(ComputeType(matmul.types));
  const bool narrowed = type == "f32" && !matmul.fpmath.empty() &&
                        (implementation.find("amx") != std::string::npos ||
                         implementation.find("bf16") != std::string::npos);
  return onednn::MatrixPipe(narrowed ? "bf16" : type, implementation);
}

PreparedCall Prepare(const BenchmarkName& name, const RunSettings& settings) {
  const auto matmul = ReadOnednnMatmulCase(name);
  RequireSupport(matmul);
  onednn::SetThreads(settings.threads);
  auto inputs = std::make_shared<MatmulInputs>(SeededMatmulInputs(matmul, settings.seed));
  const auto what = fmt::format("{} {} {}", matmul.ip ? "inner product" : "matmul",
                                Key(matmul.direction), matmul.type);
  const auto call = std::make_shared<const Call>(
      onednn::Translated(what, [&] { return PrepareCall(matmul, *inputs); }));
  RequireKernel(matmul, call->implementation);
  PreparedCall prepared;
  prepared.run = [call] { call->Run(); };
  prepared.verify = [matmul, call, inputs, seed = settings.seed] {
    call->Run();
    auto found = CheckMatmul(matmul, *inputs, call->Output(), seed);
    *inputs = {};  // up to gigabytes that the timed calls do not need
    return found;
  };
  prepared.algorithm = call->implementation;
  prepared.isa = onednn::EffectiveIsa();
  prepared.modelled = MatmulWork(matmul, PipeOf(matmul, call->implementation));
  prepared.levels = onednn::OfThisVersion(
      MatmulLevels(matmul, call->implementation, prepared.isa, settings.threads));
  prepared.memory = onednn::Regions(call->arguments, call->weights);
  return prepared;
}

[[maybe_unused]] const bool registered =
    RegisterCell({.op = "Matmul", .device = "cpu", .library = "onednn", .prepare = Prepare});

}  // namespace
}  // namespace dlroof
