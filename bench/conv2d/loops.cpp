#include "bench/conv2d/loops.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace dlroof::conv2d {
namespace {

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

}  // namespace

workload::ProductArrays<double> FilledArrays(const Conv2dCase& conv,
                                             const workload::ProductInputs& inputs) {
  const auto& p = conv.problem;
  auto arrays = workload::ArraysOf(inputs, SizesOf(conv));
  const auto plain = std::move(arrays.source);
  const int64_t plane = (p.h + p.pad_top + p.pad_bottom) * (p.w + p.pad_left + p.pad_right);
  arrays.source.assign(static_cast<size_t>(p.n * p.c * plane), 0);
  ForEachSource(p, [&](int64_t from, int64_t to) {
    arrays.source[static_cast<size_t>(to)] = plain[static_cast<size_t>(from)];
  });
  if (conv.bias) arrays.bias.resize(static_cast<size_t>(p.k));
  return arrays;
}

void RunConv2dReference(const Conv2dProblem& p, ProductDirection direction,
                        workload::ProductArrays<double>& arrays) {
  const int64_t width = delta::OutputColumns(p);
  const int64_t step = p.stride_w;
  double* const source = arrays.source.data();
  double* const weights = arrays.weights.data();
  double* const destination = arrays.destination.data();
  if (direction == ProductDirection::kForward) {
    std::ranges::fill(arrays.destination, 0.0);
    ForEachRow(p, [=](int64_t to, int64_t weight, int64_t from) {
      for (int64_t x = 0; x < width; ++x)
        destination[to + x] += weights[weight] * source[from + x * step];
    });
  } else if (direction == ProductDirection::kBackwardData) {
    std::ranges::fill(arrays.source, 0.0);
    ForEachRow(p, [=](int64_t from, int64_t weight, int64_t to) {
      for (int64_t x = 0; x < width; ++x)
        source[to + x * step] += weights[weight] * destination[from + x];
    });
  } else {
    std::ranges::fill(arrays.weights, 0.0);
    ForEachRow(p, [=](int64_t gradient, int64_t weight, int64_t from) {
      for (int64_t x = 0; x < width; ++x)
        weights[weight] += destination[gradient + x] * source[from + x * step];
    });
  }
}

namespace {

// Runs RunConv2dReference, then applies bias and relu or computes the bias gradient (AddVariant).
void RunConv2dCase(const Conv2dCase& conv, workload::ProductArrays<double>& arrays) {
  RunConv2dReference(conv.problem, conv.direction, arrays);
  const auto image =
      static_cast<size_t>(delta::OutputRows(conv.problem) * delta::OutputColumns(conv.problem));
  const auto filters = static_cast<size_t>(conv.problem.k);
  workload::AddVariant(
      conv, conv.problem.k, [=](size_t i) { return i / image % filters; }, arrays);
}

workload::ProductOutput<double> Output(const Conv2dCase& conv,
                                       const workload::ProductArrays<double>& arrays) {
  if (conv.direction != ProductDirection::kBackwardData) return workload::OutputOf(conv, arrays);
  std::vector<double> plain(static_cast<size_t>(SizesOf(conv).source));
  ForEachSource(conv.problem, [&](int64_t to, int64_t from) {
    plain[static_cast<size_t>(to)] = arrays.source[static_cast<size_t>(from)];
  });
  return {std::move(plain)};
}

[[maybe_unused]] const bool reference_registered = workload::RegisterLoops<Conv2dCase>(
    "Conv2D", {ReadConv2dCase, {{"bias"}, {"relu"}}, RunConv2dCase, FilledArrays, Output});

}  // namespace
}  // namespace dlroof::conv2d
