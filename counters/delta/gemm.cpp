#include "counters/delta/gemm.h"

#include <utility>

#include "counters/base/error.h"
#include "counters/base/filter_axis.h"

namespace dlroof::delta {
namespace {

struct Sizes {
  ConvShape s;
  int64_t p, q, cg, kg, e;  // output rows and columns, channels and filters per group, element
};

Axis Linear(int64_t count, int64_t bytes) { return {{Digit{count, 0, 0, bytes}, {}, {}}}; }

// Returns the axis channels (or filters) x taps of a gathered matrix; `sign` -1: data gradient.
Axis Taps(const Sizes& z, int64_t channels, int64_t channel_bytes, int sign, bool nhwc) {
  const Digit c{channels, 0, 0, channel_bytes};
  const Digit fy{z.s.r, sign * z.s.dilation_h, 0, 0}, fx{z.s.s, 0, sign * z.s.dilation_w, 0};
  if (nhwc) return {{fy, fx, c}};
  return {{c, fy, fx}};
}

Axis OutputPixels(const Sizes& z, int64_t image_bytes) {
  return {{Digit{z.s.n, 0, 0, image_bytes}, Digit{z.p, z.s.stride_h, 0, 0},
           Digit{z.q, 0, z.s.stride_w, 0}},
          -z.s.pad_top,
          -z.s.pad_left};
}

// Returns the input as a matrix of output pixels x filter taps.
Operand InputGather(const Sizes& z, bool nhwc) {
  Operand input;
  const int64_t pixel = nhwc ? z.s.c * z.e : z.e;
  const int64_t plane = z.s.h * z.s.w * z.e;
  input.pixel_bytes = pixel;
  input.line_bytes = z.s.w * pixel;
  input.limit_h = z.s.h;
  input.limit_w = z.s.w;
  input.group_bytes = z.cg * (nhwc ? z.e : plane);
  input.gathered = true;
  input.rows = OutputPixels(z, z.s.c * plane);
  input.columns = Taps(z, z.cg, nhwc ? z.e : plane, 1, nhwc);
  input.lanes_along_columns = nhwc;
  return input;
}

// Returns the output's gradient as a matrix of input pixels x filter taps.
Operand OutputGather(const Sizes& z, bool nhwc) {
  Operand output;
  const int64_t pixel = nhwc ? z.s.k * z.e : z.e;
  const int64_t plane = z.p * z.q * z.e;
  output.pixel_bytes = pixel;
  output.line_bytes = z.q * pixel;
  output.step_h = z.s.stride_h;
  output.step_w = z.s.stride_w;
  output.limit_h = z.p;
  output.limit_w = z.q;
  output.group_bytes = z.kg * (nhwc ? z.e : plane);
  output.gathered = true;
  output.rows = {{Digit{z.s.n, 0, 0, z.s.k * plane}, Digit{z.s.h, 1, 0, 0}, Digit{z.s.w, 0, 1, 0}},
                 z.s.pad_top,
                 z.s.pad_left};
  output.columns = Taps(z, z.kg, nhwc ? z.e : plane, -1, nhwc);
  output.lanes_along_columns = nhwc;
  return output;
}

// Returns a tensor as a matrix of pixels x channels of one group.
Operand PixelsByChannels(const Sizes& z, int64_t pixels, int64_t channels, int64_t per_group,
                         bool nhwc) {
  Operand tensor;
  const int64_t plane = pixels * z.e;
  if (nhwc) {
    tensor.rows = Linear(z.s.n * pixels, channels * z.e);
  } else {
    tensor.rows = {{Digit{z.s.n, 0, 0, channels * plane}, {}, Digit{pixels, 0, 0, z.e}}};
  }
  tensor.columns = Linear(per_group, nhwc ? z.e : plane);
  tensor.group_bytes = per_group * (nhwc ? z.e : plane);
  tensor.lanes_along_columns = nhwc;
  return tensor;
}

Operand Transposed(Operand matrix) {
  std::swap(matrix.rows, matrix.columns);
  matrix.lanes_along_columns = !matrix.lanes_along_columns;
  matrix.taps_along_rows = matrix.gathered && !matrix.taps_along_rows;
  return matrix;
}

// Returns the weights as a matrix of filters x (channels, taps), contiguous in both layouts.
Operand FilterRows(const Sizes& z) {
  Operand weights;
  const int64_t row = z.cg * z.s.r * z.s.s;
  weights.rows = Linear(z.kg, row * z.e);
  weights.columns = Linear(row, z.e);
  weights.group_bytes = z.kg * row * z.e;
  weights.lanes_along_columns = true;
  return weights;
}

// Returns the weights as a matrix of channels x (filters, taps), for the data gradient.
Operand ChannelRows(const Sizes& z, bool nhwc) {
  Operand weights;
  const int64_t taps = z.s.r * z.s.s, filter = z.cg * taps * z.e;
  weights.group_bytes = z.kg * filter;
  if (nhwc) {
    weights.rows = Linear(z.cg, z.e);
    weights.columns = {{Digit{z.s.r, 0, 0, z.s.s * z.cg * z.e}, Digit{z.s.s, 0, 0, z.cg * z.e},
                        Digit{z.kg, 0, 0, filter}}};
    weights.lanes_along_columns = false;
  } else {
    weights.rows = Linear(z.cg, taps * z.e);
    weights.columns = {{Digit{z.kg, 0, 0, filter}, {}, Digit{taps, 0, 0, z.e}}};
    weights.lanes_along_columns = true;
  }
  return weights;
}

void Check(const ConvLayer& layer) {
  const ConvShape& s = layer.shape;
  for (const int64_t size : {s.n, s.c, s.h, s.w, s.k, s.r, s.s, s.stride_h, s.stride_w,
                             s.dilation_h, s.dilation_w, s.groups})
    if (size < 1) throw BadInput("the sizes of a convolution must be at least 1, got {}", size);
  if (s.c % s.groups != 0 || s.k % s.groups != 0)
    throw BadInput("{} groups do not divide {} channels and {} filters", s.groups, s.c, s.k);
  if (OutputRows(s) < 1 || OutputColumns(s) < 1)
    throw BadInput("the filter is larger than the padded image");
  for (const int64_t bytes : {layer.element_bytes, ResultBytes(layer)})
    if (bytes < 1 || bytes > 8) throw BadInput("an element must have 1 to 8 bytes, got {}", bytes);
}

// Returns the number of output positions [1] along one side, or 0 if the filter does not fit.
int64_t Positions(int64_t padded, int64_t taps, int64_t dilation, int64_t stride) {
  const int64_t available = padded - (taps - 1) * dilation - 1;
  return available < 0 ? 0 : available / stride + 1;
}

}  // namespace

int64_t ResultBytes(const ConvLayer& layer) {
  return layer.result_bytes.value_or(layer.element_bytes);
}

int64_t OutputRows(const ConvShape& s) {
  return Positions(s.h + s.pad_top + s.pad_bottom, s.r, s.dilation_h, s.stride_h);
}
int64_t OutputColumns(const ConvShape& s) {
  return Positions(s.w + s.pad_left + s.pad_right, s.s, s.dilation_w, s.stride_w);
}

int64_t MultiplyAdds(const ConvShape& s) {
  const FilterAxis rows{s.h, OutputRows(s), s.r, s.stride_h, s.dilation_h, s.pad_top};
  const FilterAxis columns{s.w, OutputColumns(s), s.s, s.stride_w, s.dilation_w, s.pad_left};
  return s.n * s.k * (s.c / s.groups) * PairsInside(rows) * PairsInside(columns);
}

int64_t DenseMultiplyAdds(const ConvShape& s) {
  return s.n * s.k * (s.c / s.groups) * OutputRows(s) * OutputColumns(s) * s.r * s.s;
}

int64_t Size(const Axis& axis) {
  return axis.digits[0].count * axis.digits[1].count * axis.digits[2].count;
}

std::optional<Period> PeriodOf(const Axis& axis) {
  int64_t indices = Size(axis);
  for (const Digit& digit : axis.digits) {
    indices /= digit.count;
    if (digit.count == 1) continue;
    if (digit.dy != 0 || digit.dx != 0 || digit.bytes <= 0) return std::nullopt;
    return Period{indices, digit.bytes};
  }
  return std::nullopt;
}

ConvGemm GemmOf(const ConvLayer& layer) {
  Check(layer);
  const ConvShape& s = layer.shape;
  const Sizes z{
      s, OutputRows(s), OutputColumns(s), s.c / s.groups, s.k / s.groups, layer.element_bytes};
  Sizes result = z;
  result.e = ResultBytes(layer);
  const bool nhwc = layer.layout == TensorLayout::kNhwc;
  ConvGemm gemm{.groups = s.groups};
  switch (layer.direction) {
    case ProductDirection::kForward:
      gemm.a = InputGather(z, nhwc);
      gemm.b = FilterRows(z);
      gemm.c = PixelsByChannels(result, z.p * z.q, s.k, z.kg, nhwc);
      break;
    case ProductDirection::kBackwardData:
      gemm.a = OutputGather(z, nhwc);
      gemm.b = ChannelRows(z, nhwc);
      gemm.c = PixelsByChannels(result, s.h * s.w, s.c, z.cg, nhwc);
      break;
    case ProductDirection::kBackwardWeights:
      gemm.a = Transposed(PixelsByChannels(z, z.p * z.q, s.k, z.kg, nhwc));
      gemm.b = Transposed(InputGather(z, nhwc));
      gemm.c = FilterRows(result);
      break;
  }
  gemm.m = Size(gemm.a.rows);
  gemm.n = Size(gemm.b.rows);
  gemm.k = Size(gemm.a.columns);
  return gemm;
}

}  // namespace dlroof::delta
