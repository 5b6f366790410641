#include "bench/conv2d/loops.h"

#include <array>
#include <limits>

#include "bench/workload/memory.h"

namespace dlroof::conv2d {
namespace {

// One dimension of the convolution. Output `out` reads input in = out * stride + tap * dilation -
// pad at `tap`, if `in` is inside the image.
struct WindowAxis {
  int64_t outputs, taps, inputs, stride, dilation, pad;

  int64_t InputOf(int64_t out, int64_t tap) const { return out * stride + tap * dilation - pad; }
  bool Inside(int64_t in) const { return in >= 0 && in < inputs; }
};

// Indices, along one dimension, of two elements that are multiplied.
struct Factors {
  int64_t first, second;
};
using FactorList = std::vector<Factors>;

FactorList OfOutput(const WindowAxis& axis, int64_t out) {  // pairs (input, tap)
  FactorList factors;
  for (int64_t tap = 0; tap < axis.taps; ++tap)
    if (const int64_t in = axis.InputOf(out, tap); axis.Inside(in)) factors.push_back({in, tap});
  return factors;
}

FactorList OfInput(const WindowAxis& axis, int64_t in) {  // pairs (output, tap)
  FactorList factors;
  for (int64_t tap = 0; tap < axis.taps; ++tap) {
    const int64_t distance = in + axis.pad - tap * axis.dilation;
    if (distance >= 0 && distance % axis.stride == 0 && distance / axis.stride < axis.outputs)
      factors.push_back({distance / axis.stride, tap});
  }
  return factors;
}

FactorList OfTap(const WindowAxis& axis, int64_t tap) {  // pairs (input, output)
  FactorList factors;
  for (int64_t out = 0; out < axis.outputs; ++out)
    if (const int64_t in = axis.InputOf(out, tap); axis.Inside(in)) factors.push_back({in, out});
  return factors;
}

// A tensor's first plane, and the distances between planes and between rows [elements].
struct Planes {
  const float* begin;
  int64_t plane, row;
};

workload::ProductElement Sum(const Planes& first, const Planes& second, int64_t planes,
                             const FactorList& rows, const FactorList& columns) {
  workload::ProductElement sum;
  for (int64_t i = 0; i < planes; ++i)
    for (const auto& row : rows) {
      const float* const a = first.begin + i * first.plane + row.first * first.row;
      const float* const b = second.begin + i * second.plane + row.second * second.row;
      for (const auto& column : columns)
        sum.Add(static_cast<double>(a[column.first]) * static_cast<double>(b[column.second]));
    }
  return sum;
}

// An index into a four-dimensional tensor, outermost dimension first.
struct Position {
  int64_t a, b, c, d;
};

Position PositionOf(int64_t index, int64_t size_b, int64_t size_c, int64_t size_d) {
  return {index / (size_b * size_c * size_d), index / (size_c * size_d) % size_b,
          index / size_d % size_c, index % size_d};
}

workload::ProductElement OutputAt(const Conv2dProblem& p, const WindowAxis& vertical,
                                  const WindowAxis& horizontal, const workload::ProductInputs& in,
                                  int64_t index) {
  const auto at = PositionOf(index, p.k, vertical.outputs, horizontal.outputs);
  const int64_t depth = p.c / p.groups;
  const int64_t channel = at.b / (p.k / p.groups) * depth;
  return Sum({in.source.data() + (at.a * p.c + channel) * p.h * p.w, p.h * p.w, p.w},
             {in.weights.data() + at.b * depth * p.r * p.s, p.r * p.s, p.s}, depth,
             OfOutput(vertical, at.c), OfOutput(horizontal, at.d));
}

workload::ProductElement SourceGradientAt(const Conv2dProblem& p, const WindowAxis& vertical,
                                          const WindowAxis& horizontal,
                                          const workload::ProductInputs& in, int64_t index) {
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

workload::ProductElement WeightGradientAt(const Conv2dProblem& p, const WindowAxis& vertical,
                                          const WindowAxis& horizontal,
                                          const workload::ProductInputs& in, int64_t index) {
  const int64_t depth = p.c / p.groups;
  const auto at = PositionOf(index, depth, p.r, p.s);
  const int64_t channel = at.a / (p.k / p.groups) * depth + at.b;
  const int64_t image = vertical.outputs * horizontal.outputs;
  return Sum({in.source.data() + channel * p.h * p.w, p.c * p.h * p.w, p.w},
             {in.destination.data() + at.a * image, p.k * image, horizontal.outputs}, p.n,
             OfTap(vertical, at.c), OfTap(horizontal, at.d));
}

// Returns the bias gradient of one filter.
workload::ProductElement BiasGradientAt(const Conv2dProblem& p,
                                        const workload::ProductInputs& inputs, int64_t filter) {
  const int64_t image = delta::OutputRows(p) * delta::OutputColumns(p);
  workload::ProductElement sum;
  for (int64_t sample = 0; sample < p.n; ++sample)
    for (int64_t i = 0; i < image; ++i)
      sum.Add(inputs.destination[(sample * p.k + filter) * image + i]);
  return sum;
}

// Returns the dimensions of the result, outermost first.
std::array<int64_t, 4> ResultSizes(const Conv2dProblem& p, ProductDirection direction) {
  if (direction == ProductDirection::kForward)
    return {p.n, p.k, delta::OutputRows(p), delta::OutputColumns(p)};
  if (direction == ProductDirection::kBackwardData) return {p.n, p.c, p.h, p.w};
  return {p.k, p.c / p.groups, p.r, p.s};
}

int64_t IndexOf(const std::array<int64_t, 4>& at, const std::array<int64_t, 4>& sizes) {
  return ((at[0] * sizes[1] + at[1]) * sizes[2] + at[2]) * sizes[3] + at[3];
}

// Returns the indices of all sixteen corners and of seeded positions, every other of which is moved
// to one of the four borders of its image.
std::vector<int64_t> SampledIndices(const std::array<int64_t, 4>& sizes, int64_t count,
                                    uint64_t seed) {
  std::vector<int64_t> indices;
  for (unsigned corner = 0; corner < 16; ++corner) {
    std::array<int64_t, 4> at{};
    for (size_t i = 0; i < 4; ++i) at.at(i) = (corner >> i & 1U) != 0 ? sizes.at(i) - 1 : 0;
    indices.push_back(IndexOf(at, sizes));
  }
  const auto random = workload::SeededIndices(count * 4, seed, std::numeric_limits<int64_t>::max());
  for (int64_t i = 16; i < count; ++i) {
    std::array<int64_t, 4> at{};
    for (size_t j = 0; j < 4; ++j) at.at(j) = random.at(i * 4 + j) % sizes.at(j);
    if (i % 2 == 0) {
      const auto border = static_cast<size_t>(i / 2 % 4);  // top, left, bottom, right
      at.at(2 + border % 2) = border < 2 ? 0 : sizes.at(2 + border % 2) - 1;
    }
    indices.push_back(IndexOf(at, sizes));
  }
  std::ranges::sort(indices);
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return indices;
}

}  // namespace

workload::ProductElement Conv2dElementAt(const Conv2dProblem& p, ProductDirection direction,
                                         const workload::ProductInputs& inputs, int64_t index) {
  const WindowAxis vertical{delta::OutputRows(p), p.r, p.h, p.stride_h, p.dilation_h, p.pad_top};
  const WindowAxis horizontal{
      delta::OutputColumns(p), p.s, p.w, p.stride_w, p.dilation_w, p.pad_left};
  if (direction == ProductDirection::kForward)
    return OutputAt(p, vertical, horizontal, inputs, index);
  if (direction == ProductDirection::kBackwardData)
    return SourceGradientAt(p, vertical, horizontal, inputs, index);
  return WeightGradientAt(p, vertical, horizontal, inputs, index);
}

workload::ProductResult ResultOf(const Conv2dCase& conv, const workload::ProductInputs& inputs) {
  const auto& p = conv.problem;
  const auto sizes = ResultSizes(p, conv.direction);
  return {
      sizes[0] * sizes[1] * sizes[2] * sizes[3],
      TapsPerOutput(p, conv.direction),
      [sizes](int64_t count, uint64_t seed) { return SampledIndices(sizes, count, seed); },
      [&](int64_t index) { return Conv2dElementAt(conv.problem, conv.direction, inputs, index); },
      [&p, image = delta::OutputRows(p) * delta::OutputColumns(p)](int64_t index) {
        return index / image % p.k;
      },
      [&](int64_t filter) { return BiasGradientAt(conv.problem, inputs, filter); }};
}

namespace {

using Arrays = workload::ProductArrays<double>;

Arrays FilledArrays(const Conv2dCase& conv, const workload::ProductInputs& inputs) {
  auto arrays = ZeroArrays<double>(conv.problem);
  if (!inputs.source.empty())
    ForEachSource(conv.problem, [&](int64_t from, int64_t to) {
      arrays.source[static_cast<size_t>(to)] = double{inputs.source[static_cast<size_t>(from)]};
    });
  std::ranges::copy(inputs.weights, arrays.weights.begin());
  std::ranges::copy(inputs.destination, arrays.destination.begin());
  if (conv.bias) arrays.bias.assign(static_cast<size_t>(conv.problem.k), 0);
  std::ranges::copy(inputs.bias, arrays.bias.begin());
  return arrays;
}

workload::ProductOutput<double> Output(const Conv2dCase& conv, const Arrays& arrays) {
  if (conv.direction == ProductDirection::kForward) return {arrays.destination};
  if (conv.direction == ProductDirection::kBackwardWeights) return {arrays.weights, arrays.bias};
  std::vector<double> plain(static_cast<size_t>(SourceCount(conv.problem)));
  ForEachSource(conv.problem, [&](int64_t to, int64_t from) {
    plain[static_cast<size_t>(to)] = arrays.source[static_cast<size_t>(from)];
  });
  return {std::move(plain)};
}

[[maybe_unused]] const bool reference_registered = workload::RegisterLoops<Conv2dCase>(
    "Conv2D", {ReadConv2dCase, {{"bias"}, {"relu"}}, FilledArrays, RunConv2dCase<double>, Output});

}  // namespace
}  // namespace dlroof::conv2d
