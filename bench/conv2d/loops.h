// conv2d in plain loops: the yardstick for every other implementation, and a benchmark itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bench/conv2d/case.h"

namespace dlroof {

// The three tensors in plain order; of one call two are read and one is written. The source (or its
// gradient) lies in a frame of padding, so that taps on the padding are multiplied and added like
// any other: the dense count of DenseFlops.
template <class Number>
struct Conv2dArrays {
  std::vector<Number> padded_source;  // n c h+top+bottom w+left+right
  std::vector<Number> weights;        // k c/groups r s
  std::vector<Number> destination;    // n k P Q
  std::vector<Number> bias = {};      // k; empty without
};

// Arrays of the problem's sizes, all zero.
template <class Number>
Conv2dArrays<Number> ZeroArrays(const Conv2dProblem& p) {
  const int64_t padded =
      p.n * p.c * (p.h + p.pad_top + p.pad_bottom) * (p.w + p.pad_left + p.pad_right);
  return {std::vector<Number>(static_cast<size_t>(padded)),
          std::vector<Number>(static_cast<size_t>(WeightsCount(p))),
          std::vector<Number>(static_cast<size_t>(DestinationCount(p))),
          {}};
}

// visit(plain index, padded index) for every element of the source.
template <class Visit>
void ForEachSource(const Conv2dProblem& p, Visit visit) {
  const int64_t height = p.h + p.pad_top + p.pad_bottom;
  const int64_t width = p.w + p.pad_left + p.pad_right;
  int64_t plain = 0;
  for (int64_t image = 0; image < p.n * p.c; ++image)
    for (int64_t y = 0; y < p.h; ++y)
      for (int64_t x = 0; x < p.w; ++x)
        visit(plain++, (image * height + y + p.pad_top) * width + x + p.pad_left);
}

// row(destination, weight, source) for every product of an output row with one weight: offsets of
// the row's first element, of the weight, and of the first padded source element, from which one
// steps by stride_w.
template <class Row>
void ForEachRow(const Conv2dProblem& p, Row row) {
  const int64_t height = p.h + p.pad_top + p.pad_bottom;
  const int64_t width = p.w + p.pad_left + p.pad_right;
  const int64_t out_height = OutputHeight(p);
  const int64_t out_width = OutputWidth(p);
  const int64_t depth = p.c / p.groups;
  for (int64_t image = 0; image < p.n; ++image)
    for (int64_t filter = 0; filter < p.k; ++filter)
      for (int64_t c = 0; c < depth; ++c)
        for (int64_t tap = 0; tap < p.r * p.s; ++tap)
          for (int64_t y = 0; y < out_height; ++y) {
            const int64_t channel = filter / (p.k / p.groups) * depth + c;
            const int64_t in_y = y * p.stride_h + tap / p.s * p.dilation_h;
            row(((image * p.k + filter) * out_height + y) * out_width,
                (filter * depth + c) * p.r * p.s + tap,
                ((image * p.c + channel) * height + in_y) * width + tap % p.s * p.dilation_w);
          }
}

// Writes the direction's result from the two other arrays: forward the destination, backward by
// data the padded source's gradient, backward by weights the weights' gradient.
template <class Number>
void RunConv2dReference(const Conv2dProblem& p, Conv2dDirection direction,
                        Conv2dArrays<Number>& arrays) {
  const int64_t width = OutputWidth(p);
  const int64_t step = p.stride_w;
  Number* const source = arrays.padded_source.data();
  Number* const weights = arrays.weights.data();
  Number* const destination = arrays.destination.data();
  if (direction == Conv2dDirection::kForward) {
    std::fill(arrays.destination.begin(), arrays.destination.end(), Number{});
    ForEachRow(p, [=](int64_t to, int64_t weight, int64_t from) {
      for (int64_t x = 0; x < width; ++x)
        destination[to + x] += weights[weight] * source[from + x * step];
    });
  } else if (direction == Conv2dDirection::kBackwardData) {
    std::fill(arrays.padded_source.begin(), arrays.padded_source.end(), Number{});
    ForEachRow(p, [=](int64_t from, int64_t weight, int64_t to) {
      for (int64_t x = 0; x < width; ++x)
        source[to + x * step] += weights[weight] * destination[from + x];
    });
  } else {
    std::fill(arrays.weights.begin(), arrays.weights.end(), Number{});
    ForEachRow(p, [=](int64_t gradient, int64_t weight, int64_t from) {
      for (int64_t x = 0; x < width; ++x)
        weights[weight] += destination[gradient + x] * source[from + x * step];
    });
  }
}

inline double Relu(double value) { return value > 0 ? value : 0; }

// RunConv2dReference and what the variant adds: bias, relu, the gradient of the bias.
template <class Number>
void RunConv2dCase(const Conv2dCase& conv, Conv2dArrays<Number>& arrays) {
  RunConv2dReference(conv.problem, conv.direction, arrays);
  const bool forward = conv.direction == Conv2dDirection::kForward;
  const auto image = static_cast<size_t>(OutputHeight(conv.problem) * OutputWidth(conv.problem));
  const auto filters = static_cast<size_t>(conv.problem.k);
  if (conv.bias && !forward) arrays.bias.assign(filters, Number{});
  for (size_t i = 0; conv.bias && i < arrays.destination.size(); ++i) {
    Number& bias = arrays.bias[i / image % filters];
    if (forward)
      arrays.destination[i] += bias;
    else
      bias += arrays.destination[i];
  }
  if (conv.relu)
    for (auto& value : arrays.destination) value = Relu(value);
}

// One element of a direction's result, by itself: another way to the same number, which skips the
// padding instead of multiplying it.
struct Conv2dElement {
  double value = 0;      // the sum of its products, in double
  double magnitude = 0;  // the sum of their absolute values: the scale of its rounding error
};

// The plain inputs of a direction: forward source and weights, backward by data destination's
// gradient and weights, backward by weights source and destination's gradient.
struct Conv2dInputs {
  std::vector<float> source, weights, destination;  // the written one is empty
  std::vector<float> bias = {};                     // forward with bias alone
};

// `index`: position in the plain result of the direction, without padding.
Conv2dElement Conv2dElementAt(const Conv2dProblem& problem, Conv2dDirection direction,
                              const Conv2dInputs& inputs, int64_t index);

// The gradient of one filter's bias.
Conv2dElement Conv2dBiasGradientAt(const Conv2dProblem& problem, const Conv2dInputs& inputs,
                                   int64_t filter);

}  // namespace dlroof
