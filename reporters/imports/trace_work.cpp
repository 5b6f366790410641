// Computes FLOPs and bytes of PyTorch's operators (import.h).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <regex>
#include <span>
#include <string_view>

#include "counters/base/work.h"
#include "reporters/imports/import.h"

namespace dlroof::imports {
namespace {

using Sizes = std::vector<std::int64_t>;

double Count(const Sizes& sizes) {
  double count = 1;
  for (const auto size : sizes) count *= static_cast<double>(size);
  return count;
}

// Returns the sizes of input `index`, or {} if it is not a tensor.
const Sizes& SizesAt(const TraceOp& op, std::size_t index) {
  static const Sizes none;
  return index < op.sizes.size() ? op.sizes[index] : none;
}

// Returns the numbers in the text of input `index`, e.g. "[1, 2]" or "1", or {} for other text.
Sizes ListAt(const TraceOp& op, std::size_t index) {
  Sizes list;
  std::string_view text = index < op.values.size() ? op.values[index] : std::string_view();
  while (!text.empty()) {
    if (text.front() == '[' || text.front() == ' ' || text.front() == ',' || text.front() == ']') {
      text.remove_prefix(1);
      continue;
    }
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return {};
    list.push_back(value);
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  }
  return list;
}

// Indices of a convolution operator's inputs.
struct ConvInputs {
  std::string_view name;
  std::size_t padding, stride;
  std::optional<std::size_t> dilation = {}, groups = {};  // if not set, the value is 1
};
constexpr ConvInputs kConvs[] = {{"aten::mkldnn_convolution", 3, 4, 5, 6},
                                 {"aten::cudnn_convolution", 2, 3, 4, 5},
                                 {"aten::miopen_convolution", 3, 4, 5, 6},
                                 {"aten::_slow_conv2d_forward", 5, 4},
                                 {"aten::thnn_conv2d_forward", 5, 4}};

struct Counted {
  double flops = 0;     // [flop]
  double elements = 0;  // [1] read or written
};

// Sets `axis.outputs`; pad_begin is at both ends. Returns false if the filter exceeds the image.
bool SetOutputs(FilterAxis& axis) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  if (axis.stride < 1 || axis.dilation < 1 || axis.pad_begin < 0) return false;
  for (const auto size : {axis.source, axis.taps, axis.stride, axis.dilation, axis.pad_begin})
    if (size > kMax) return false;
  const auto available = axis.source + 2 * axis.pad_begin - axis.dilation * (axis.taps - 1) - 1;
  if (available < 0) return false;
  axis.outputs = available / axis.stride + 1;
  return true;
}

// Returns an axis per dimension of the image, or {} if the sizes are inconsistent.
std::vector<FilterAxis> AxesOf(const Sizes& source, const Sizes& weights, const Sizes& padding,
                               const Sizes& stride, const Sizes& dilation) {
  const std::size_t dimensions = source.size() - 2;
  if (padding.size() != dimensions || stride.size() != dimensions || dilation.size() != dimensions)
    return {};
  std::vector<FilterAxis> axes;
  for (std::size_t i = 0; i < dimensions; ++i) {
    axes.push_back({.source = source[2 + i],
                    .taps = weights[2 + i],
                    .stride = stride[i],
                    .dilation = dilation[i],
                    .pad_begin = padding[i]});
    if (!SetOutputs(axes.back())) return {};
  }
  return axes;
}

std::optional<Counted> OfConv(const TraceOp& op, const ConvInputs& inputs) {
  const Sizes &source = SizesAt(op, 0), &weights = SizesAt(op, 1);
  if (source.size() < 3 || source.size() != weights.size()) return std::nullopt;
  const Sizes dilation =
      inputs.dilation ? ListAt(op, *inputs.dilation) : Sizes(source.size() - 2, 1);
  const Sizes groups = inputs.groups ? ListAt(op, *inputs.groups) : Sizes{1};
  if (groups.size() != 1 || groups[0] < 1 || source[1] != weights[1] * groups[0])
    return std::nullopt;
  const auto axes =
      AxesOf(source, weights, ListAt(op, inputs.padding), ListAt(op, inputs.stride), dilation);
  if (axes.empty()) return std::nullopt;
  const double filters = static_cast<double>(source[0]) * static_cast<double>(weights[0]);
  double result = filters;
  for (const auto& axis : axes) result *= static_cast<double>(axis.outputs);
  return Counted{2 * filters * static_cast<double>(weights[1]) * UsefulPairs(axes),
                 Count(source) + Count(weights) + result};
}

// Counts aten::_slow_conv2d_backward(gradient, source, weights, filter, stride, padding, mask). The
// mask's three flags say whether it computes the gradient of source, weights and bias.
std::optional<Counted> OfConvBackward(const TraceOp& op) {
  constexpr std::size_t kStride = 4, kPadding = 5, kMask = 6;
  const Sizes &gradient = SizesAt(op, 0), &source = SizesAt(op, 1), &weights = SizesAt(op, 2);
  if (op.values.size() <= kMask || gradient.size() < 3 || source.size() != gradient.size() ||
      weights.size() != gradient.size() || gradient[0] != source[0] || gradient[1] != weights[0] ||
      source[1] != weights[1])
    return std::nullopt;
  static const std::regex three(R"(\[(True|False), (True|False), (True|False)\])");
  std::smatch mask;
  if (!std::regex_match(op.values[kMask], mask, three)) return std::nullopt;
  const bool of_source = mask[1] == "True", of_weights = mask[2] == "True";
  if (!of_source && !of_weights) return std::nullopt;
  const auto axes = AxesOf(source, weights, ListAt(op, kPadding), ListAt(op, kStride),
                           Sizes(source.size() - 2, 1));
  if (axes.empty() ||
      !std::ranges::equal(axes, std::span(gradient).subspan(2), {}, &FilterAxis::outputs))
    return std::nullopt;
  const double filters = static_cast<double>(gradient[0]) * static_cast<double>(weights[0]);
  const double gradient_flops = 2 * filters * static_cast<double>(weights[1]) * UsefulPairs(axes);
  return Counted{(of_source ? gradient_flops : 0) + (of_weights ? gradient_flops : 0),
                 Count(gradient) + (of_source ? Count(weights) + Count(source) : 0) +
                     (of_weights ? Count(source) + Count(weights) : 0)};
}

// Counts the product of inputs `first` ([b] m x k) and `first` + 1 ([b] k x n), if they fit.
std::optional<Counted> OfProduct(const TraceOp& op, std::size_t first, std::size_t dimensions) {
  const Sizes &a = SizesAt(op, first), &b = SizesAt(op, first + 1);
  if (a.size() != dimensions || b.size() != dimensions || a[dimensions - 1] != b[dimensions - 2] ||
      (dimensions == 3 && a[0] != b[0]))
    return std::nullopt;
  const double result =
      Count(a) / static_cast<double>(a[dimensions - 1]) * static_cast<double>(b[dimensions - 1]);
  return Counted{2 * result * static_cast<double>(a[dimensions - 1]), Count(a) + Count(b) + result};
}

struct ProductInputs {
  std::string_view name;
  std::size_t first, dimensions;
};
constexpr ProductInputs kProducts[] = {{"aten::mm", 0, 2},
                                       {"aten::addmm", 1, 2},
                                       {"aten::_addmm_activation", 1, 2},
                                       {"aten::bmm", 0, 3},
                                       {"aten::baddbmm", 1, 3}};

struct TypeRow {
  std::string_view torch, name;
  double bytes;
};
constexpr TypeRow kTypes[] = {
    {"float", "f32", 4},      {"double", "f64", 8},     {"c10::BFloat16", "bf16", 2},
    {"c10::Half", "f16", 2},  {"long", "s64", 8},       {"long int", "s64", 8},
    {"int", "s32", 4},        {"signed char", "s8", 1}, {"unsigned char", "u8", 1},
    {"c10::quint8", "u8", 1}, {"c10::qint8", "s8", 1},  {"bool", "bool", 1}};

double BytesOfType(std::string_view type) {
  return std::ranges::find(kTypes, type, &TypeRow::name)->bytes;
}

// Elementwise operators by their FLOPs per element of the largest tensor. A comparison counts 1, as
// in oneDNN's primitives. Operators with 0 FLOPs only move data.
constexpr std::pair<double, std::string_view> kPointwise[] = {
    {0, " copy_ cat fill_ zero_ index_select gather index masked_fill_ constant_pad_nd "},
    {1,
     " add add_ sub sub_ mul mul_ div div_ relu relu_ neg sum mean maximum sqrt clamp_min "
     "clamp_min_ "},
    {3, " addcmul_ addcdiv_ lerp_ "}};

// Counts attention with inputs q (... L x E), k (... S x E) and v (... S x V). If input 4 says that
// it is causal, position i is only paired with positions up to i.
std::optional<Counted> OfAttention(const TraceOp& op) {
  constexpr std::size_t kCausal = 4;
  const Sizes &q = SizesAt(op, 0), &k = SizesAt(op, 1), &v = SizesAt(op, 2);
  const auto n = q.size();
  if (n < 3 || k.size() != n || v.size() != n || q[n - 1] != k[n - 1] || k[n - 2] != v[n - 2])
    return std::nullopt;
  const double heads = Count(Sizes(q.begin(), q.end() - 2));
  const auto rows = static_cast<double>(q[n - 2]), columns = static_cast<double>(k[n - 2]);
  const bool causal = kCausal < op.values.size() && op.values[kCausal] == "True";
  if (!causal && kCausal < op.values.size() && op.values[kCausal] != "False") return std::nullopt;
  const double full = std::min(rows, columns);  // rows i = 1, 2, ... with i pairs under the mask
  const double pairs = causal ? full * (full + 1) / 2 + (rows - full) * columns : rows * columns;
  const double result = heads * rows * static_cast<double>(v[n - 1]);
  return Counted{2 * heads * pairs * static_cast<double>(q[n - 1] + v[n - 1]),
                 Count(q) + Count(k) + Count(v) + result};
}

std::optional<Counted> CountedOf(const TraceOp& op) {
  for (const auto& conv : kConvs)
    if (op.name == conv.name) return OfConv(op, conv);
  if (op.name == "aten::_slow_conv2d_backward") return OfConvBackward(op);
  for (const auto& product : kProducts)
    if (op.name == product.name) return OfProduct(op, product.first, product.dimensions);
  if (op.name == "aten::_scaled_dot_product_flash_attention_for_cpu" ||
      op.name == "aten::_scaled_dot_product_flash_attention")
    return OfAttention(op);
  return std::nullopt;
}

// Returns the FLOPs per element, or nullopt for an operator that is not elementwise.
std::optional<double> PointwiseFlops(std::string_view name) {
  constexpr std::string_view kLibrary = "aten::";
  if (!name.starts_with(kLibrary)) return std::nullopt;
  const auto word = fmt::format(" {} ", name.substr(kLibrary.size()));
  for (const auto& [flops, names] : kPointwise)
    if (names.find(word) != names.npos) return flops;
  return std::nullopt;
}

std::optional<OpCount> PointwiseCountOf(const TraceOp& op, const std::string& type) {
  const auto flops = PointwiseFlops(op.name);
  double most = 0, all = 0;  // elements of the largest tensor [1], bytes [byte]
  for (std::size_t i = 0; i < op.sizes.size(); ++i) {
    if (op.sizes[i].empty()) continue;
    most = std::max(most, Count(op.sizes[i]));
    all += Count(op.sizes[i]) * BytesOfType(TypeName(op.types[i]));
  }
  if (!flops || most == 0) return std::nullopt;
  // The output of an in-place operator ("add_") is one of its inputs, which counts once.
  const bool in_place = op.name.ends_with('_');
  return OpCount{.type = type,
                 .matrix = 0,
                 .elementwise = *flops * most,
                 .bytes = all + (in_place ? 0 : most) * BytesOfType(type),
                 .moves_data = *flops == 0};
}

}  // namespace

std::string TypeName(std::string_view type) {
  const auto* row = std::ranges::find(kTypes, type, &TypeRow::torch);
  return row == std::end(kTypes) ? "" : std::string(row->name);
}

std::optional<OpCount> CountOfOp(const TraceOp& op) {
  std::string type;  // of the first tensor
  for (std::size_t i = 0; i < op.sizes.size(); ++i) {
    if (op.sizes[i].empty()) continue;
    const auto own = i < op.types.size() ? TypeName(op.types[i]) : "";
    if (own.empty() || std::ranges::min(op.sizes[i]) < 1) return std::nullopt;
    if (type.empty()) type = own;
  }
  if (op.on_gpu || type.empty()) return std::nullopt;
  const auto counted = CountedOf(op);
  if (!counted) return PointwiseCountOf(op, type);
  return OpCount{.type = type,
                 .matrix = counted->flops,
                 .elementwise = 0,
                 .bytes = counted->elements * BytesOfType(type)};
}

}  // namespace dlroof::imports
