// Computes single elements of a Conv3D's result in double.
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "bench/conv2d/conv3d.h"
#include "bench/workload/memory.h"

namespace dlroof::conv2d {
namespace {

// An index or the sizes of a five-dimensional tensor, outermost dimension first.
using Five = std::array<int64_t, 5>;

int64_t IndexOf(const Five& at, const Five& sizes) {
  int64_t index = 0;
  for (size_t i = 0; i < at.size(); ++i) index = index * sizes.at(i) + at.at(i);
  return index;
}

Five PositionOf(int64_t index, const Five& sizes) {
  Five at{};
  for (size_t i = at.size(); i-- > 0; index /= sizes.at(i)) at.at(i) = index % sizes.at(i);
  return at;
}

template <class Of>
Five With(int64_t first, int64_t second, const Conv3dProblem& p, Of of) {
  return {first, second, of(p.axes[0]), of(p.axes[1]), of(p.axes[2])};
}

// The sizes of the three tensors.
struct Shapes {
  Five source, weights, destination;
};
Shapes ShapesOf(const Conv3dProblem& p) {
  return {With(p.n, p.c, p, [](const VolumeAxis& axis) { return axis.size; }),
          With(p.k, p.c / p.groups, p, [](const VolumeAxis& axis) { return axis.filter; }),
          With(p.n, p.k, p, Outputs)};
}

constexpr int64_t kAny = -1;  // any index along the axis

// Calls visit(source, tap, output) for each product along an axis. `fixed`: (source, tap, output)
// with one index given, which selects the products; the others are kAny.
template <class Visit>
void ForEachPair(const VolumeAxis& axis, const std::array<int64_t, 3>& fixed, Visit visit) {
  const auto [only_source, only_tap, only_output] = fixed;
  for (int64_t tap = std::max<int64_t>(only_tap, 0);
       tap < (only_tap < 0 ? axis.filter : only_tap + 1); ++tap)
    for (int64_t out = std::max<int64_t>(only_output, 0);
         out < (only_output < 0 ? Outputs(axis) : only_output + 1); ++out) {
      const int64_t in = out * axis.stride + tap * axis.dilation - axis.pad_before;
      if (in >= 0 && in < axis.size && (only_source < 0 || in == only_source)) visit(in, tap, out);
    }
}

// Returns `fixed` of ForEachPair for the element at `index` of the direction's result.
std::array<int64_t, 3> Fixed(ProductDirection direction, int64_t index) {
  if (direction == ProductDirection::kForward) return {kAny, kAny, index};
  if (direction == ProductDirection::kBackwardData) return {index, kAny, kAny};
  return {kAny, index, kAny};
}

// Adds the products of one image, filter and channel to the element at position `at`.
void AddProducts(const Conv3dCase& conv, const workload::ProductInputs& in, const Shapes& shapes,
                 const Five& at, const std::array<int64_t, 3>& image_filter_channel,
                 workload::ProductElement& sum) {
  const auto& p = conv.problem;
  const auto [image, filter, depth] = image_filter_channel;
  const int64_t channel = filter / (p.k / p.groups) * (p.c / p.groups) + depth;
  const auto fixed = [&](size_t axis) { return Fixed(conv.direction, at.at(2 + axis)); };
  ForEachPair(p.axes[0], fixed(0), [&](int64_t z, int64_t t, int64_t to_z) {
    ForEachPair(p.axes[1], fixed(1), [&](int64_t y, int64_t r, int64_t to_y) {
      ForEachPair(p.axes[2], fixed(2), [&](int64_t x, int64_t s, int64_t to_x) {
        const auto value = [](const std::vector<float>& tensor, const Five& where,
                              const Five& sizes) {
          return static_cast<double>(tensor[static_cast<size_t>(IndexOf(where, sizes))]);
        };
        double product = 1;
        if (conv.direction != ProductDirection::kForward)
          product *= value(in.destination, {image, filter, to_z, to_y, to_x}, shapes.destination);
        if (conv.direction != ProductDirection::kBackwardData)
          product *= value(in.source, {image, channel, z, y, x}, shapes.source);
        if (conv.direction != ProductDirection::kBackwardWeights)
          product *= value(in.weights, {filter, depth, t, r, s}, shapes.weights);
        sum.Add(product);
      });
    });
  });
}

const Five& ResultSizes(const Shapes& shapes, ProductDirection direction) {
  if (direction == ProductDirection::kForward) return shapes.destination;
  return direction == ProductDirection::kBackwardData ? shapes.source : shapes.weights;
}

workload::ProductElement ElementAt(const Conv3dCase& conv, const workload::ProductInputs& in,
                                   int64_t index) {
  const auto& p = conv.problem;
  const auto shapes = ShapesOf(p);
  const auto at = PositionOf(index, ResultSizes(shapes, conv.direction));
  const int64_t depth = p.c / p.groups, filters = p.k / p.groups;
  workload::ProductElement sum;
  if (conv.direction == ProductDirection::kForward)
    for (int64_t c = 0; c < depth; ++c) AddProducts(conv, in, shapes, at, {at[0], at[1], c}, sum);
  else if (conv.direction == ProductDirection::kBackwardData)
    for (int64_t k = 0; k < filters; ++k)
      AddProducts(conv, in, shapes, at, {at[0], at[1] / depth * filters + k, at[1] % depth}, sum);
  else
    for (int64_t n = 0; n < p.n; ++n) AddProducts(conv, in, shapes, at, {n, at[0], at[1]}, sum);
  return sum;
}

// Returns the maximum number of multiply-adds for one element of the result.
int64_t TermsOf(const Conv3dCase& conv) {
  const auto& p = conv.problem;
  if (conv.direction == ProductDirection::kForward) return SizesOf(conv).terms;
  int64_t terms = conv.direction == ProductDirection::kBackwardData ? p.k / p.groups : p.n;
  for (const auto& axis : p.axes) {
    // With dense taps at most one of every `stride` taps reads a given source element.
    const int64_t step = axis.dilation == 1 ? axis.stride : 1;
    terms *= conv.direction == ProductDirection::kBackwardData ? (axis.filter + step - 1) / step
                                                               : Outputs(axis);
  }
  return terms;
}

// Returns the indices of all corners and of random positions, half of which are moved to the
// surface of the volume, where padding matters.
std::vector<int64_t> Sampled(const Five& sizes, int64_t count, uint64_t seed) {
  constexpr int64_t kCorners = 32;
  std::vector<int64_t> indices;
  for (unsigned corner = 0; corner < kCorners; ++corner) {
    Five at{};
    for (size_t i = 0; i < at.size(); ++i) at.at(i) = (corner >> i & 1U) != 0 ? sizes.at(i) - 1 : 0;
    indices.push_back(IndexOf(at, sizes));
  }
  const auto random = workload::SeededIndices(count * 5, seed, std::numeric_limits<int64_t>::max());
  for (int64_t i = kCorners; i < count; ++i) {
    Five at{};
    for (size_t j = 0; j < at.size(); ++j)
      at.at(j) = random.at(static_cast<size_t>(i) * 5 + j) % sizes.at(j);
    const auto border = static_cast<size_t>(i / 2 % 6);  // one of six: three axes, first and last
    if (i % 2 == 0) at.at(2 + border % 3) = border < 3 ? 0 : sizes.at(2 + border % 3) - 1;
    indices.push_back(IndexOf(at, sizes));
  }
  std::ranges::sort(indices);
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return indices;
}

}  // namespace

workload::ProductResult ResultOf(const Conv3dCase& conv, const workload::ProductInputs& inputs) {
  const auto shapes = ShapesOf(conv.problem);
  const auto sizes = ResultSizes(shapes, conv.direction);
  const auto& to = shapes.destination;
  const int64_t volume = to[2] * to[3] * to[4];
  return {sizes[0] * sizes[1] * sizes[2] * sizes[3] * sizes[4],
          TermsOf(conv),
          [sizes](int64_t count, uint64_t seed) { return Sampled(sizes, count, seed); },
          [&](int64_t index) { return ElementAt(conv, inputs, index); },
          [volume, k = conv.problem.k](int64_t index) { return index / volume % k; },
          [&, volume](int64_t filter) {
            workload::ProductElement sum;
            for (int64_t n = 0; n < conv.problem.n; ++n)
              for (int64_t i = 0; i < volume; ++i)
                sum.Add(inputs.destination[static_cast<size_t>(
                    (n * conv.problem.k + filter) * volume + i)]);
            return sum;
          }};
}

}  // namespace dlroof::conv2d
