#include "bench/conv2d/loops.h"

#include <cmath>

namespace dlroof {
namespace {

// Along one dimension, output `out`, tap and input `in` meet where
// in = out * stride + tap * dilation - pad, inside the image.
struct Axis {
  int64_t outputs, taps, inputs, stride, dilation, pad;

  int64_t InputOf(int64_t out, int64_t tap) const { return out * stride + tap * dilation - pad; }
  bool Inside(int64_t in) const { return in >= 0 && in < inputs; }
};

// Positions along one dimension in the two tensors that are multiplied.
struct Meeting {
  int64_t first, second;
};
using Meetings = std::vector<Meeting>;

Meetings OfOutput(const Axis& axis, int64_t out) {  // (input, tap)
  Meetings met;
  for (int64_t tap = 0; tap < axis.taps; ++tap)
    if (const int64_t in = axis.InputOf(out, tap); axis.Inside(in)) met.push_back({in, tap});
  return met;
}

Meetings OfInput(const Axis& axis, int64_t in) {  // (output, tap)
  Meetings met;
  for (int64_t tap = 0; tap < axis.taps; ++tap) {
    const int64_t distance = in + axis.pad - tap * axis.dilation;
    if (distance >= 0 && distance % axis.stride == 0 && distance / axis.stride < axis.outputs)
      met.push_back({distance / axis.stride, tap});
  }
  return met;
}

Meetings OfTap(const Axis& axis, int64_t tap) {  // (input, output)
  Meetings met;
  for (int64_t out = 0; out < axis.outputs; ++out)
    if (const int64_t in = axis.InputOf(out, tap); axis.Inside(in)) met.push_back({in, out});
  return met;
}

// One of the two tensors: where its first plane begins, how far apart planes and rows are.
struct Planes {
  const float* begin;
  int64_t plane, row;
};

Conv2dElement Sum(const Planes& first, const Planes& second, int64_t planes, const Meetings& rows,
                  const Meetings& columns) {
  Conv2dElement sum;
  for (int64_t i = 0; i < planes; ++i)
    for (const auto& row : rows) {
      const float* const a = first.begin + i * first.plane + row.first * first.row;
      const float* const b = second.begin + i * second.plane + row.second * second.row;
      for (const auto& column : columns) {
        const double product =
            static_cast<double>(a[column.first]) * static_cast<double>(b[column.second]);
        sum.value += product;
        sum.magnitude += std::fabs(product);
      }
    }
  return sum;
}

// A position in a four-dimensional plain tensor, outermost first.
struct Position {
  int64_t a, b, c, d;
};

Position PositionOf(int64_t index, int64_t size_b, int64_t size_c, int64_t size_d) {
  return {index / (size_b * size_c * size_d), index / (size_c * size_d) % size_b,
          index / size_d % size_c, index % size_d};
}

Conv2dElement OutputAt(const Conv2dProblem& p, const Axis& vertical, const Axis& horizontal,
                       const Conv2dInputs& in, int64_t index) {
  const auto at = PositionOf(index, p.k, vertical.outputs, horizontal.outputs);
  const int64_t depth = p.c / p.groups;
  const int64_t channel = at.b / (p.k / p.groups) * depth;
  return Sum({in.source.data() + (at.a * p.c + channel) * p.h * p.w, p.h * p.w, p.w},
             {in.weights.data() + at.b * depth * p.r * p.s, p.r * p.s, p.s}, depth,
             OfOutput(vertical, at.c), OfOutput(horizontal, at.d));
}

Conv2dElement SourceGradientAt(const Conv2dProblem& p, const Axis& vertical, const Axis& horizontal,
                               const Conv2dInputs& in, int64_t index) {
  const auto at = PositionOf(index, p.c, p.h, p.w);
  const int64_t depth = p.c / p.groups;
  const int64_t filters = p.k / p.groups;
  const int64_t filter = at.b / depth * filters;
  const int64_t image = vertical.outputs * horizontal.outputs;
  return Sum(
      {in.destination.data() + (at.a * p.k + filter) * image, image, horizontal.outputs},
      {in.weights.data() + (filter * depth + at.b % depth) * p.r * p.s, depth * p.r * p.s, p.s},
      filters, OfInput(vertical, at.c), OfInput(horizontal, at.d));
}

Conv2dElement WeightGradientAt(const Conv2dProblem& p, const Axis& vertical, const Axis& horizontal,
                               const Conv2dInputs& in, int64_t index) {
  const int64_t depth = p.c / p.groups;
  const auto at = PositionOf(index, depth, p.r, p.s);
  const int64_t channel = at.a / (p.k / p.groups) * depth + at.b;
  const int64_t image = vertical.outputs * horizontal.outputs;
  return Sum({in.source.data() + channel * p.h * p.w, p.c * p.h * p.w, p.w},
             {in.destination.data() + at.a * image, p.k * image, horizontal.outputs}, p.n,
             OfTap(vertical, at.c), OfTap(horizontal, at.d));
}

}  // namespace

Conv2dElement Conv2dElementAt(const Conv2dProblem& p, Conv2dDirection direction,
                              const Conv2dInputs& inputs, int64_t index) {
  const Axis vertical{OutputHeight(p), p.r, p.h, p.stride_h, p.dilation_h, p.pad_top};
  const Axis horizontal{OutputWidth(p), p.s, p.w, p.stride_w, p.dilation_w, p.pad_left};
  if (direction == Conv2dDirection::kForward)
    return OutputAt(p, vertical, horizontal, inputs, index);
  if (direction == Conv2dDirection::kBackwardData)
    return SourceGradientAt(p, vertical, horizontal, inputs, index);
  return WeightGradientAt(p, vertical, horizontal, inputs, index);
}

Conv2dElement Conv2dBiasGradientAt(const Conv2dProblem& p, const Conv2dInputs& inputs,
                                   int64_t filter) {
  const int64_t image = OutputHeight(p) * OutputWidth(p);
  Conv2dElement sum;
  for (int64_t sample = 0; sample < p.n; ++sample)
    for (int64_t i = 0; i < image; ++i) {
      const double value = inputs.destination[(sample * p.k + filter) * image + i];
      sum.value += value;
      sum.magnitude += std::fabs(value);
    }
  return sum;
}

}  // namespace dlroof
