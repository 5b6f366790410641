// The reference loops of Conv2D, also the benchmark Conv2D/cpu/reference.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bench/conv2d/case.h"
#include "bench/workload/products.h"

namespace dlroof::conv2d {

// Returns zeroed row-major arrays for the problem. The source (or its gradient) includes its
// padding (n c h+top+bottom w+left+right), so that the loops execute DenseFlops(p) operations.
template <class Number>
workload::ProductArrays<Number> ZeroArrays(const Conv2dProblem& p) {
  const int64_t padded =
      p.n * p.c * (p.h + p.pad_top + p.pad_bottom) * (p.w + p.pad_left + p.pad_right);
  const auto sizes = SizesOf(p);
  return {std::vector<Number>(static_cast<size_t>(padded)),
          std::vector<Number>(static_cast<size_t>(sizes.weights)),
          std::vector<Number>(static_cast<size_t>(sizes.destination)),
          {}};
}

// Calls visit(index without padding, index with padding) for each source element.
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

// Calls row(destination, weight, source) for each pair of an output row and a weight. The arguments
// are indices of the row's first element, the weight, and the padded source element that the weight
// multiplies for it. For the next element of the row that source element is stride_w further on.
template <class Row>
void ForEachRow(const Conv2dProblem& p, Row row) {
  const int64_t height = p.h + p.pad_top + p.pad_bottom;
  const int64_t width = p.w + p.pad_left + p.pad_right;
  const int64_t out_height = delta::OutputRows(p);
  const int64_t out_width = delta::OutputColumns(p);
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

// Computes the array that the direction writes (bwd_data: the padded source) from the others.
template <class Number>
void RunConv2dReference(const Conv2dProblem& p, ProductDirection direction,
                        workload::ProductArrays<Number>& arrays) {
  const int64_t width = delta::OutputColumns(p);
  const int64_t step = p.stride_w;
  Number* const source = arrays.source.data();
  Number* const weights = arrays.weights.data();
  Number* const destination = arrays.destination.data();
  if (direction == ProductDirection::kForward) {
    std::ranges::fill(arrays.destination, Number{});
    ForEachRow(p, [=](int64_t to, int64_t weight, int64_t from) {
      for (int64_t x = 0; x < width; ++x)
        destination[to + x] += weights[weight] * source[from + x * step];
    });
  } else if (direction == ProductDirection::kBackwardData) {
    std::ranges::fill(arrays.source, Number{});
    ForEachRow(p, [=](int64_t from, int64_t weight, int64_t to) {
      for (int64_t x = 0; x < width; ++x)
        source[to + x * step] += weights[weight] * destination[from + x];
    });
  } else {
    std::ranges::fill(arrays.weights, Number{});
    ForEachRow(p, [=](int64_t gradient, int64_t weight, int64_t from) {
      for (int64_t x = 0; x < width; ++x)
        weights[weight] += destination[gradient + x] * source[from + x * step];
    });
  }
}

// Runs RunConv2dReference, then applies bias and relu or computes the bias gradient (AddVariant).
template <class Number>
void RunConv2dCase(const Conv2dCase& conv, workload::ProductArrays<Number>& arrays) {
  RunConv2dReference(conv.problem, conv.direction, arrays);
  const auto image =
      static_cast<size_t>(delta::OutputRows(conv.problem) * delta::OutputColumns(conv.problem));
  const auto filters = static_cast<size_t>(conv.problem.k);
  workload::AddVariant(
      conv, conv.problem.k, [=](size_t i) { return i / image % filters; }, arrays);
}

// Returns the correct results for workload::CheckOutput (ResultOf of the equal volume).
inline workload::ProductResult ResultOf(const Conv2dCase& conv,
                                        const workload::ProductInputs& inputs) {
  return ResultOf(VolumeOf(conv.problem), conv.direction, inputs, 2);
}

}  // namespace dlroof::conv2d
