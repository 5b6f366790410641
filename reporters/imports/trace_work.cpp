// FLOPs and bytes of PyTorch's operators (trace.h).
#include <algorithm>
#include <charconv>
#include <string_view>

#include "reporters/imports/trace.h"

namespace dlroof::imports {
namespace {

using Sizes = std::vector<std::int64_t>;

double Count(const Sizes& sizes) {
  double count = 1;
  for (const auto size : sizes) count *= static_cast<double>(size);
  return count;
}

// Returns the sizes of input `index`, or no sizes if it is not a tensor.
const Sizes& SizesAt(const TraceOp& op, std::size_t index) {
  static const Sizes none;
  return index < op.sizes.size() ? op.sizes[index] : none;
}

// Returns the numbers of "[1, 2]" or "1", or none for any other text.
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

// The inputs of a convolution operator, by position.
struct ConvInputs {
  std::string_view name;
  std::size_t padding, stride;
  std::optional<std::size_t> dilation = {}, groups = {};  // if not set, the value is 1
};
constexpr ConvInputs kConvs[] = {{"aten::mkldnn_convolution", 3, 4, 5, 6},
                                 {"aten::cudnn_convolution", 2, 3, 4, 5},
                                 {"aten::miopen_convolution", 3, 4, 5, 6},
                                 {"aten::_slow_conv2d_forward", 5, 4},
                                 {"aten::thnn_conv2d", 5, 4}};

struct Counted {
  double flops = 0;     // [flop]
  double elements = 0;  // [1] read or written
};

// Returns the output size of one image dimension, or nullopt for inconsistent sizes.
std::optional<std::int64_t> OutputSize(std::int64_t size, std::int64_t taps, std::int64_t padding,
                                       std::int64_t stride, std::int64_t dilation) {
  const std::int64_t available = size + 2 * padding - dilation * (taps - 1) - 1;
  if (available < 0 || stride < 1 || dilation < 1 || padding < 0) return std::nullopt;
  return available / stride + 1;
}

std::optional<Counted> OfConv(const TraceOp& op, const ConvInputs& inputs) {
  const Sizes &source = SizesAt(op, 0), &weights = SizesAt(op, 1);
  if (source.size() < 3 || source.size() != weights.size()) return std::nullopt;
  const std::size_t dimensions = source.size() - 2;
  const Sizes padding = ListAt(op, inputs.padding), stride = ListAt(op, inputs.stride);
  const Sizes dilation = inputs.dilation ? ListAt(op, *inputs.dilation) : Sizes(dimensions, 1);
  const Sizes groups = inputs.groups ? ListAt(op, *inputs.groups) : Sizes{1};
  if (padding.size() != dimensions || stride.size() != dimensions ||
      dilation.size() != dimensions || groups.size() != 1 || groups[0] < 1 ||
      source[1] != weights[1] * groups[0])
    return std::nullopt;
  double image = static_cast<double>(source[0]) * static_cast<double>(weights[0]);
  for (std::size_t i = 0; i < dimensions; ++i) {
    const auto size = OutputSize(source[2 + i], weights[2 + i], padding[i], stride[i], dilation[i]);
    if (!size) return std::nullopt;
    image *= static_cast<double>(*size);
  }
  const double per_output = Count(weights) / static_cast<double>(weights[0]);
  return Counted{2 * image * per_output, Count(source) + Count(weights) + image};
}

// Counts the matrix product of inputs `first` ([b] m x k) and `first` + 1 ([b] k x n).
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
constexpr ProductInputs kProducts[] = {
    {"aten::mm", 0, 2}, {"aten::addmm", 1, 2}, {"aten::bmm", 0, 3}, {"aten::baddbmm", 1, 3}};

std::optional<Counted> CountedOf(const TraceOp& op) {
  for (const auto& sizes : op.sizes)
    for (const auto size : sizes)
      if (size < 1) return std::nullopt;
  for (const auto& conv : kConvs)
    if (op.name == conv.name) return OfConv(op, conv);
  for (const auto& product : kProducts)
    if (op.name == product.name) return OfProduct(op, product.first, product.dimensions);
  return std::nullopt;
}

}  // namespace

std::optional<Work> WorkOfOp(const TraceOp& op) {
  const bool wide = !op.types.empty() && op.types[0] == "double";
  if (op.on_gpu || op.types.empty() || (!wide && op.types[0] != "float")) return std::nullopt;
  const auto counted = CountedOf(op);
  if (!counted) return std::nullopt;
  Work work;
  work.flops[wide ? "fp64.vector" : "fp32.vector"] = counted->flops;
  work.bytes[Level::kDram] = counted->elements * (wide ? 8 : 4);
  return work;
}

}  // namespace dlroof::imports
