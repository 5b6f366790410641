// Matmul/cpu/onednn: matrix products by oneDNN 3.x, by its matmul or (option ip) inner-product
// primitive. The name determines the layouts, except for inner products and the option `any`, where
// oneDNN chooses them. Tensors are reordered once, before the timing.
#include <fmt/format.h>

#include "bench/matmul/loops.h"
#include "bench/onednn/call.h"

namespace dlroof::matmul {
namespace {

using dnnl::memory;

// Throws Unsupported if the loaded oneDNN is too old to multiply compressed weights on CPUs.
void RequireCompressedWeights(const MatmulCase& matmul) {
  const bool is_byte = workload::IsByte(matmul.types.weights);
  const int needed = is_byte ? 4 : 5;
  if (const auto* version = dnnl::version(); version->minor < needed)
    throw Unsupported("weights of {} bits need oneDNN 3.{} or newer; this is {}.{}",
                      is_byte ? 8 : 4, needed, version->major, version->minor);
}

bool IsGrouped(const MatmulCase& matmul) { return matmul.group < matmul.problem.k; }

// Sets the attributes for a product that converts integer weights ("weights decompression").
void SetCompressedWeights(const MatmulCase& matmul, int per_column, dnnl::primitive_attr& to) {
  const auto& source = matmul.types.source;
  const auto mode = matmul.fpmath     ? onednn::FpmathMode(*matmul.fpmath)
                    : source == "f32" ? dnnl::fpmath_mode::strict
                                      : onednn::FpmathMode(source);
  constexpr int kApplyToIntegers = 1;
  onednn::CallNewer<dnnl_status_t(dnnl_primitive_attr_t, dnnl_fpmath_mode_t, int)>(
      "dnnl_primitive_attr_set_fpmath_mode_v2", to.get(), static_cast<dnnl_fpmath_mode_t>(mode),
      kApplyToIntegers);
  const auto set = [&](const char* function, std::string_view type) {
    const dnnl_dims_t group = {matmul.group, 1};
    const bool grouped = IsGrouped(matmul);  // the mask then has k, too, the dimension before n
    onednn::CallNewer<dnnl_status_t(dnnl_primitive_attr_t, int, int, int, const dnnl_dim_t*,
                                    dnnl_data_type_t)>(
        function, to.get(), DNNL_ARG_WEIGHTS, per_column | (grouped ? per_column / 2 : 0),
        grouped ? 2 : 0, grouped ? &group[0] : nullptr,
        static_cast<dnnl_data_type_t>(onednn::DataType(type)));
  };
  set("dnnl_primitive_attr_set_scales", source);
  if (matmul.zero_points) set("dnnl_primitive_attr_set_zero_points", matmul.types.weights);
}

void AddQuantization(const MatmulCase& matmul, onednn::ProductCall& call) {
  const auto [scales, zero_points] = QuantizationOf(matmul);
  const auto add = [&](int argument, std::string_view type, const std::vector<float>& values) {
    if (values.empty()) return;
    memory::dims dims = {matmul.problem.n};
    if (IsGrouped(matmul)) dims.insert(dims.begin(), matmul.problem.k / matmul.group);
    argument |= DNNL_ARG_WEIGHTS;
    call.AddInput(argument, onednn::PlainDesc(dims, onednn::DataType(type)), values);
    call.weights.push_back(argument);
  };
  add(DNNL_ARG_ATTR_SCALES, matmul.types.source, scales);
  add(DNNL_ARG_ATTR_ZERO_POINTS, matmul.types.weights, zero_points);
}

dnnl::primitive_attr AttributesOf(const MatmulCase& matmul) {
  // Masks select the dimension of the columns: the last for matmul, the first for inner products.
  const int per_column = matmul.ip ? 1 : matmul.problem.b > 1 ? 4 : 2;
  auto attributes = onednn::AttributesOf(matmul, workload::ScalesOf(matmul), per_column);
  if (matmul.group > 0) SetCompressedWeights(matmul, per_column, attributes);
  return attributes;
}

memory::dims Dimensions(int64_t batch, int64_t rows, int64_t columns) {
  if (batch == 1) return {rows, columns};
  return {batch, rows, columns};
}

memory::desc BiasDesc(const MatmulCase& matmul) {
  memory::dims dims = {1, matmul.problem.n};
  if (matmul.problem.b > 1) dims.insert(dims.begin(), 1);
  return onednn::PlainDesc(dims, onednn::DataType(workload::BiasType(matmul.types)));
}

// Returns the descriptor of rows x columns matrices whose transposes are stored row-major.
memory::desc TransposedDesc(int64_t batch, int64_t rows, int64_t columns, memory::data_type type) {
  if (batch == 1) return {{rows, columns}, type, memory::dims{1, rows}};
  return {{batch, rows, columns}, type, memory::dims{rows * columns, 1, rows}};
}

// Returns memory of a factor with the descriptor `desc`, filled with `values` as they are stored.
memory FilledFactor(onednn::Tensors& tensors, const memory::desc& desc, bool transposed,
                    const std::vector<float>& values) {
  if (!transposed) return tensors.Filled(desc, values);
  auto dims = desc.get_dims();
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  const auto plain = tensors.Filled(onednn::PlainDesc(dims, desc.get_data_type()), values);
  return {desc, onednn::CpuEngine(), plain.get_data_handle()};
}

onednn::ProductCall MatmulCall(const MatmulCase& matmul, const workload::ProductInputs& inputs) {
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
  onednn::ProductCall call{onednn::CallOf<dnnl::matmul>(chosen)};
  const auto filled = [&](const memory::desc& of, const Factor& factor) {
    return FilledFactor(call.tensors, of, factor.transposed, MatrixOf(inputs, factor.matrix));
  };
  call.arguments = {{DNNL_ARG_SRC, filled(chosen.src_desc(), p.left)},
                    {DNNL_ARG_WEIGHTS, filled(chosen.weights_desc(), p.right)}};
  call.AddResult(DNNL_ARG_DST, chosen.dst_desc(), inputs.addend);
  call.AddVariant(matmul, workload::ScalesOf(matmul), inputs, bias);
  call.weights = {p.left.matrix == Matrix::kB    ? DNNL_ARG_SRC
                  : p.right.matrix == Matrix::kB ? DNNL_ARG_WEIGHTS
                                                 : DNNL_ARG_DST,
                  DNNL_ARG_BIAS};
  AddQuantization(matmul, call);
  return call;
}

onednn::ProductCall InnerProductCall(const MatmulCase& matmul,
                                     const workload::ProductInputs& inputs) {
  const auto& p = matmul.problem;
  const auto desc = [](const memory::dims& dims, std::string_view type) {
    return memory::desc(dims, onednn::DataType(type), memory::format_tag::any);
  };
  const auto source = desc({p.m, p.k}, matmul.types.source);
  const auto weights = desc({p.n, p.k}, matmul.types.weights);
  const auto destination = desc({p.m, p.n}, matmul.types.destination);
  const auto bias = matmul.bias ? desc({p.n}, workload::BiasType(matmul.types)) : memory::desc();
  const auto attributes = AttributesOf(matmul);
  const dnnl::inner_product_forward::primitive_desc forward(onednn::CpuEngine(),
                                                            onednn::ForwardKind(matmul), source,
                                                            weights, bias, destination, attributes);
  if (matmul.direction == ProductDirection::kForward)
    return onednn::ForwardCall<dnnl::inner_product_forward>(forward, matmul,
                                                            workload::ScalesOf(matmul), inputs);
  if (matmul.direction == ProductDirection::kBackwardData)
    return onednn::BackwardDataCall<dnnl::inner_product_backward_data>(
        {onednn::CpuEngine(), source, weights, destination, forward, attributes}, inputs);
  return onednn::BackwardWeightsCall<dnnl::inner_product_backward_weights>(
      {onednn::CpuEngine(), source, weights, bias, destination, forward, attributes}, matmul,
      inputs);
}

onednn::ProductCall MakeCall(const MatmulCase& matmul, const workload::ProductInputs& inputs) {
  if (!matmul.ip) return MatmulCall(matmul, inputs);
  auto call = InnerProductCall(matmul, inputs);
  call.weights = {DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS};
  return call;
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const auto matmul = ReadOnednnMatmulCase(name);
  if (matmul.group > 0) RequireCompressedWeights(matmul);
  onednn::RequireSupport(matmul, SizesOf(matmul), "int8 products have no backward pass, only fwd");
  const auto what = fmt::format("{} {} {}", matmul.ip ? "inner product" : "matmul",
                                Key(matmul.direction), matmul.type);
  return onednn::PrepareProduct(
      matmul, settings, what,
      [matmul](const workload::ProductInputs& inputs) { return MakeCall(matmul, inputs); });
}

[[maybe_unused]] const bool backend_registered = workload::RegisterBackend(
    {.op = "Matmul", .device = "cpu", .library = "onednn", .prepare = Prepare});

}  // namespace
}  // namespace dlroof::matmul
