// Closed forms of batch, layer and group normalization, and softmax.
#include <algorithm>

#include "reporters/logs/primitive.h"

namespace dlroof::logs {
namespace {

constexpr double kStatisticBytes = 4;  // statistics, scale and shift are f32

// Flags in an auxiliary word such as "flags:CHR". `global`: the call does not compute statistics.
struct Flags {
  bool global, scale, shift, relu, add;
};

Flags FlagsOf(const Primitive& primitive) {
  const auto text = WordOf(primitive.text.auxiliary, "flags");
  const auto has = [&](char letter) { return text.find(letter) != std::string_view::npos; };
  return {has('G'), has('C') || has('S'), has('H') || has('S'), has('R') || has('A'), has('A')};
}

// Returns the bytes per element, summed over all tensors with the size of the data. The log may
// print one descriptor for source and destination.
double PassBytes(const Primitive& primitive) {
  double values = 0, gradients = 0;
  int value_count = 0, gradient_count = 0;
  for (const auto& tensor : primitive.tensors) {
    constexpr std::string_view kValues[] = {"src", "dst", "data"};
    constexpr std::string_view kGradients[] = {"diff", "diff_src", "diff_dst", "diff_data"};
    const bool gradient = std::ranges::count(kGradients, tensor.role) > 0;
    if (tensor.type == "undef" || (!gradient && std::ranges::count(kValues, tensor.role) == 0))
      continue;
    const auto bytes = BytesOf(tensor.type);
    if (!bytes) throw NoClosedForm{"no type of the data is printed"};
    (gradient ? gradients : values) += *bytes;
    ++(gradient ? gradient_count : value_count);
  }
  if (value_count + gradient_count == 0) throw NoClosedForm{"no type of the data is printed"};
  if (!primitive.IsBackward()) return value_count == 1 ? 2 * values : values;
  if (gradient_count == 0) return 3 * values;  // only "data" is printed, for three tensors
  return values + (gradient_count == 1 ? 2 * gradients : gradients);
}

// A normalization's groups: the `size` elements of a group share their statistics.
struct Normalized {
  double groups, size;
  double scales;  // [1] elements of the scale, and of the shift
};

// Returns the FLOPs of one group: mean n (n - 1 additions, a division), variance 3n (subtract,
// square, n - 1 additions, a division); 1/sqrt(variance + epsilon) 3; subtract and multiply 2n;
// scale, shift, addition and relu n each.
double ForwardFlops(const Flags& flags, double n) {
  return (flags.global ? 0 : 4 * n) + 3 + 2 * n + n * flags.scale + n * flags.shift +
         n * flags.add + n * flags.relu;
}

// Returns the backward FLOPs of one channel of n elements. A channel has one mean, variance, scale
// and shift: the sums for the gradients of scale and shift also give the source's gradient.
double BatchBackwardFlops(const Flags& flags, bool makes_scales, double n) {
  const bool sums = !flags.global || (makes_scales && (flags.scale || flags.shift));
  double flops = 3 + n * flags.relu;
  if (sums) flops += 2 * n + (2 * n - 1) + (n - 1);
  if (flags.scale) flops += 1;
  flops += flags.global ? n : 2 + 4 * n;
  return flops;
}

// Returns the backward FLOPs of a row of n elements: 1/sqrt 3; normalization again 2n;
// multiplication by the scale n; sums of the gradient and of gradient x normalized values 3n - 2;
// two divisions by n; the gradient 4n. The gradients of scale and shift are sums over rows.
double LayerBackwardFlops(const Flags& flags, double n) {
  return 3 + 2 * n + n * flags.scale + (flags.global ? n : 3 * n - 2 + 2 + 4 * n);
}

Normalized BatchOf(const Primitive& primitive) {
  const auto letters = LetterSizes::Read(primitive.text.problem);
  if (letters && letters->Has("ic")) {
    const double channels = letters->Or("ic", 1);
    return {channels, letters->Or("mb", 1) * letters->Image('i'), channels};
  }
  const auto dims = DimsOf(primitive).front();
  if (dims.size() < 2) throw NoClosedForm{"the problem has no channels"};
  return {dims[1], ProductOf(dims) / std::max(dims[1], 1.0), dims[1]};
}

Normalized RowsOf(const Primitive& primitive) {
  const auto dims = DimsOf(primitive).front();
  return {ProductOf(dims) / std::max(dims.back(), 1.0), dims.back(), dims.back()};
}

// As PassBytes, for a group normalization. Backward, "dst" is the destination's gradient.
double GroupPassBytes(const Primitive& primitive) {
  double bytes = 0;
  for (const char* role : {"src", "dst"}) bytes += ElementBytes(primitive, role);
  if (primitive.IsBackward()) bytes += ElementBytes(primitive, "diff_src");
  if (!(bytes > 0)) throw NoClosedForm{"no type of the data is printed"};
  return bytes;
}

// Adds the bytes of the data (`pass_bytes` [byte] per element), the statistics, scale and shift.
void AddBytes(const Primitive& primitive, const Flags& flags, const Normalized& shape,
              FormWork& work, double pass_bytes) {
  const bool has_statistics = flags.global || primitive.text.prop != "forward_inference";
  // A backward call does not read the shift.
  const double scales = shape.scales * (flags.scale + (primitive.IsBackward() ? 0 : flags.shift));
  work.bytes = shape.groups * shape.size * pass_bytes +
               kStatisticBytes * (has_statistics ? 2 * shape.groups : 0) + kStatisticBytes * scales;
  if (flags.add) work.bytes += shape.groups * shape.size * pass_bytes / 2;
  if (primitive.text.prop == "backward")
    work.bytes += kStatisticBytes * shape.scales * (flags.scale + flags.shift);
  work.destination = shape.groups * shape.size;
}

// Returns the work of a layer or group normalization. Each scale applies to `points` elements.
FormWork GroupsWork(const Primitive& primitive, const Normalized& shape, double points,
                    double pass_bytes) {
  const auto flags = FlagsOf(primitive);
  FormWork work;
  work.elementwise = shape.groups * (primitive.IsBackward() ? LayerBackwardFlops(flags, shape.size)
                                                            : ForwardFlops(flags, shape.size));
  if (primitive.text.prop == "backward")
    work.elementwise +=
        shape.scales * ((flags.scale ? 2 * points - 1 : 0) + (flags.shift ? points - 1 : 0));
  AddBytes(primitive, flags, shape, work, pass_bytes);
  return work;
}

// Returns the work of a (log)softmax over rows of n elements along the axis.
FormWork RowWork(const Primitive& primitive, bool logarithm) {
  const auto dims = DimsOf(primitive).front();
  const auto axis_text = WordOf(primitive.text.auxiliary, "axis");
  const auto axis = ReadDims(axis_text);
  if (!axis || axis->size() != 1 || axis->front() >= static_cast<double>(dims.size()))
    throw NoClosedForm{"no axis is printed"};
  const double n = dims[static_cast<std::size_t>(axis->front())];
  auto work = WorkOn(dims);
  const double rows = n > 0 ? work.destination / n : 0;
  // Forward: maximum n - 1, subtractions n, exp n, sum n - 1, and n divisions, or a log and n
  // subtractions. Backward: n products (logarithm: n exp), sum n - 1, n subtractions and products.
  work.elementwise = rows * (primitive.IsBackward() ? 4 * n - 1 : 5 * n - 2 + (logarithm ? 1 : 0));
  work.bytes = work.destination * PassBytes(primitive);
  work.destination_bytes = PassBytes(primitive) / 2;
  return work;
}

}  // namespace

FormWork BatchNormalizationWork(const Primitive& primitive) {
  const auto shape = BatchOf(primitive);
  const auto flags = FlagsOf(primitive);
  FormWork work;
  work.elementwise =
      shape.groups * (primitive.IsBackward()
                          ? BatchBackwardFlops(flags, primitive.text.prop == "backward", shape.size)
                          : ForwardFlops(flags, shape.size));
  AddBytes(primitive, flags, shape, work, PassBytes(primitive));
  return work;
}

FormWork LayerNormalizationWork(const Primitive& primitive) {
  const auto shape = RowsOf(primitive);
  return GroupsWork(primitive, shape, shape.groups, PassBytes(primitive));
}

FormWork GroupNormalizationWork(const Primitive& primitive) {
  const auto letters = SizesOf(primitive);
  if (!letters.Has("g") || !letters.Has("ic")) throw NoClosedForm{"the problem lacks g or ic"};
  const double samples = letters.Or("mb", 1), channels = letters.Or("ic", 1);
  const double image = letters.Image('i'), groups = letters.Or("g", 1);
  if (!(groups > 0)) throw NoClosedForm{"the problem has no groups"};
  const Normalized shape{samples * groups, channels / groups * image, channels};
  return GroupsWork(primitive, shape, samples * image, GroupPassBytes(primitive));
}

FormWork SoftmaxWork(const Primitive& primitive) {
  return RowWork(primitive, WordOf(primitive.text.auxiliary, "alg") == "softmax_log");
}

FormWork LogsoftmaxWork(const Primitive& primitive) { return RowWork(primitive, true); }

}  // namespace dlroof::logs
