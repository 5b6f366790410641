#include "bench/conv2d_reference.h"

#include <cmath>

namespace dlroof {
namespace {

void Add(Conv2dElement& element, float a, float b) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  element.value += product;
  element.magnitude += std::fabs(product);
}

// A position in a four-dimensional plain tensor, outermost first.
struct Position {
  int64_t a, b, c, d;
};

Position PositionOf(int64_t index, int64_t size_b, int64_t size_c, int64_t size_d) {
  return {index / (size_b * size_c * size_d), index / (size_c * size_d) % size_b,
          index / size_d % size_c, index % size_d};
}

Conv2dElement OutputAt(const Conv2dProblem& p, const Conv2dInputs& in, int64_t index) {
  const auto at = PositionOf(index, p.k, OutputHeight(p), OutputWidth(p));
  const int64_t depth = p.c / p.groups;
  const int64_t first_channel = at.b / (p.k / p.groups) * depth;
  Conv2dElement sum;
  for (int64_t c = 0; c < depth; ++c)
    for (int64_t r = 0; r < p.r; ++r) {
      const int64_t y = at.c * p.stride_h + r * p.dilation_h - p.pad_top;
      if (y < 0 || y >= p.h) continue;
      for (int64_t s = 0; s < p.s; ++s) {
        const int64_t x = at.d * p.stride_w + s * p.dilation_w - p.pad_left;
        if (x < 0 || x >= p.w) continue;
        Add(sum, in.source[((at.a * p.c + first_channel + c) * p.h + y) * p.w + x],
            in.weights[((at.b * depth + c) * p.r + r) * p.s + s]);
      }
    }
  return sum;
}

// The output row or column that tap `tap` connects with input position `at`, or -1.
int64_t OutputOf(int64_t at, int64_t pad, int64_t tap, int64_t dilation, int64_t stride,
                 int64_t outputs) {
  const int64_t distance = at + pad - tap * dilation;
  if (distance < 0 || distance % stride != 0 || distance / stride >= outputs) return -1;
  return distance / stride;
}

Conv2dElement SourceGradientAt(const Conv2dProblem& p, const Conv2dInputs& in, int64_t index) {
  const auto at = PositionOf(index, p.c, p.h, p.w);
  const int64_t depth = p.c / p.groups;
  const int64_t filters = p.k / p.groups;
  const int64_t height = OutputHeight(p);
  const int64_t width = OutputWidth(p);
  Conv2dElement sum;
  for (int64_t k = at.b / depth * filters; k < (at.b / depth + 1) * filters; ++k)
    for (int64_t r = 0; r < p.r; ++r) {
      const int64_t y = OutputOf(at.c, p.pad_top, r, p.dilation_h, p.stride_h, height);
      if (y < 0) continue;
      for (int64_t s = 0; s < p.s; ++s) {
        const int64_t x = OutputOf(at.d, p.pad_left, s, p.dilation_w, p.stride_w, width);
        if (x < 0) continue;
        Add(sum, in.destination[((at.a * p.k + k) * height + y) * width + x],
            in.weights[((k * depth + at.b % depth) * p.r + r) * p.s + s]);
      }
    }
  return sum;
}

Conv2dElement WeightGradientAt(const Conv2dProblem& p, const Conv2dInputs& in, int64_t index) {
  const int64_t depth = p.c / p.groups;
  const auto at = PositionOf(index, depth, p.r, p.s);
  const int64_t channel = at.a / (p.k / p.groups) * depth + at.b;
  const int64_t height = OutputHeight(p);
  const int64_t width = OutputWidth(p);
  Conv2dElement sum;
  for (int64_t n = 0; n < p.n; ++n)
    for (int64_t out_y = 0; out_y < height; ++out_y) {
      const int64_t y = out_y * p.stride_h + at.c * p.dilation_h - p.pad_top;
      if (y < 0 || y >= p.h) continue;
      for (int64_t out_x = 0; out_x < width; ++out_x) {
        const int64_t x = out_x * p.stride_w + at.d * p.dilation_w - p.pad_left;
        if (x < 0 || x >= p.w) continue;
        Add(sum, in.source[((n * p.c + channel) * p.h + y) * p.w + x],
            in.destination[((n * p.k + at.a) * height + out_y) * width + out_x]);
      }
    }
  return sum;
}

}  // namespace

Conv2dElement Conv2dElementAt(const Conv2dProblem& p, Conv2dDirection direction,
                              const Conv2dInputs& inputs, int64_t index) {
  if (direction == Conv2dDirection::kForward) return OutputAt(p, inputs, index);
  if (direction == Conv2dDirection::kBackwardData) return SourceGradientAt(p, inputs, index);
  return WeightGradientAt(p, inputs, index);
}

}  // namespace dlroof
