#include "bench/conv2d/conv3d.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "bench/conv2d/case.h"
#include "bench/workload/memory.h"
#include "counters/base/error.h"

namespace dlroof::conv2d {
namespace {

constexpr std::array kAxisNames = {"frames", "rows", "columns"};
// Number of axes in a problem's text: an image has the last two, a volume all three.
constexpr size_t kImage = 2, kVolume = 3;

using Axes = std::span<const VolumeAxis>;

int64_t Extent(const VolumeAxis& axis) { return (axis.filter - 1) * axis.dilation + 1; }
int64_t Padded(const VolumeAxis& axis) { return axis.size + axis.pad_before + axis.pad_after; }

template <class Of>
int64_t Product(const Conv3dProblem& p, Of of) {
  return of(p.axes[0]) * of(p.axes[1]) * of(p.axes[2]);
}

// Returns "s2" or "s1x2x2", or "" if all values are `otherwise`.
std::string Values(char letter, Axes axes, int64_t VolumeAxis::*value, int64_t otherwise) {
  const int64_t first = axes[0].*value;
  const bool equal = std::ranges::count(axes, first, value) == std::ssize(axes);
  if (equal) return first == otherwise ? "" : fmt::format("{}{}", letter, first);
  std::string text;
  for (const auto& axis : axes)
    text += fmt::format("{}{}", text.empty() ? letter : 'x', axis.*value);
  return text;
}

std::string PaddingText(Axes axes) {
  const auto equal = [](const VolumeAxis& axis) { return axis.pad_before == axis.pad_after; };
  if (std::ranges::all_of(axes, equal)) return Values('p', axes, &VolumeAxis::pad_before, 0);
  std::string text;
  for (const auto& axis : axes)
    text += fmt::format("{}{}:{}", text.empty() ? 'p' : 'x', axis.pad_before, axis.pad_after);
  return text;
}

// Parse the values after a letter of the problem, e.g. "2", "1x2x2", or "2:0x1:1x1:1" (padding).
void ReadValues(workload::TextCursor& cursor, int64_t least, std::string_view what,
                std::span<VolumeAxis> axes, int64_t VolumeAxis::*value) {
  const int64_t first = cursor.Integer(least, what);
  for (auto& axis : axes) axis.*value = first;
  if (!cursor.Accept("x")) return;
  for (size_t i = 1; i < axes.size(); ++i) {
    if (i > 1) cursor.Expect("x");
    axes[i].*value = cursor.Integer(least, what);
  }
}

void ReadPadding(workload::TextCursor& cursor, std::span<VolumeAxis> axes) {
  const auto before = cursor;
  cursor.Integer(0, "a padding");
  const bool both_ends = cursor.Accept(":");
  cursor = before;
  if (!both_ends) {
    ReadValues(cursor, 0, "a padding", axes, &VolumeAxis::pad_before);
    for (auto& axis : axes) axis.pad_after = axis.pad_before;
    return;
  }
  for (auto& axis : axes) {
    if (&axis != &axes.front()) cursor.Expect("x");
    axis.pad_before = cursor.Integer(0, "a padding");
    cursor.Expect(":");
    axis.pad_after = cursor.Integer(0, "a padding");
  }
}

// Parses a problem, also if its text is not canonical, which RequireCanonical rejects later.
Conv3dProblem ReadLetters(workload::TextCursor& cursor, size_t named_axes) {
  Conv3dProblem p;
  auto& [d, h, w] = p.axes;
  const auto axes = std::span(p.axes).last(named_axes);
  cursor.Sizes({{"n", p.n}, {"c", p.c}});
  if (named_axes == kVolume) cursor.Sizes({{"d", d.size}});
  cursor.Sizes({{"h", h.size}, {"w", w.size}, {"k", p.k}});
  if (named_axes == kVolume) cursor.Sizes({{"t", d.filter}});
  cursor.Sizes({{"r", h.filter}, {"s", w.filter}});
  if (cursor.AtEnd()) return p;
  cursor.Expect("_");
  bool any = false;
  if (cursor.Accept("s")) any = true, ReadValues(cursor, 1, "a stride", axes, &VolumeAxis::stride);
  if (cursor.Accept("p")) any = true, ReadPadding(cursor, axes);
  if (cursor.Accept("d"))
    any = true, ReadValues(cursor, 1, "a dilation", axes, &VolumeAxis::dilation);
  if (cursor.Accept("g")) any = true, p.groups = cursor.Integer(1, "a number of groups");
  if (!cursor.AtEnd() || !any)
    cursor.Refuse(any ? "the end, or a later letter in the order s p d g" : "one of s p d g");
  return p;
}

// Throws BadInput (without a column) for the invalid shapes that ParseConv3d's comment lists.
void CheckShape(const Conv3dProblem& p, size_t named_axes) {
  for (size_t i = 0; i < p.axes.size(); ++i)
    if (Extent(p.axes.at(i)) > Padded(p.axes.at(i)))
      throw BadInput("the filter spans {} {} but the padded {} has {}", Extent(p.axes.at(i)),
                     kAxisNames.at(i), named_axes == kVolume ? "volume" : "image",
                     Padded(p.axes.at(i)));
  if (p.c % p.groups != 0)
    throw BadInput("{} channels do not divide into {} groups", p.c, p.groups);
  if (p.k % p.groups != 0) throw BadInput("{} filters do not divide into {} groups", p.k, p.groups);
  // [byte] The widest type, f64. If its sizes do not overflow, the sizes of no type do.
  constexpr int64_t kBytes = 8;
  const auto [d, h, w] = p.axes;
  workload::CheckSum(
      {workload::CheckedCount({kBytes, p.n, p.c, Padded(d), Padded(h), Padded(w)},
                              "the source's size in byte"),
       workload::CheckedCount({kBytes, p.k, p.c / p.groups, d.filter, h.filter, w.filter},
                              "the weights' size in byte"),
       workload::CheckedCount({kBytes, p.n, p.k, Outputs(d), Outputs(h), Outputs(w)},
                              "the destination's size in byte")},
      "the tensors' size in byte");
  workload::CheckedCount({2, p.n, p.k, Outputs(d), Outputs(h), Outputs(w), p.c / p.groups, d.filter,
                          h.filter, w.filter},
                         "the number of FLOPs");
}

std::string TextOf(const Conv3dProblem& p, size_t named_axes) {
  const auto axes = std::span(p.axes).last(named_axes);
  auto options = Values('s', axes, &VolumeAxis::stride, 1) + PaddingText(axes) +
                 Values('d', axes, &VolumeAxis::dilation, 1);
  if (p.groups != 1) options += fmt::format("g{}", p.groups);
  const auto [d, h, w] = p.axes;
  const auto depth = [&](char letter, int64_t size) {
    return named_axes == kVolume ? fmt::format("{}{}", letter, size) : "";
  };
  return fmt::format("n{}c{}{}h{}w{}k{}{}r{}s{}{}{}", p.n, p.c, depth('d', d.size), h.size, w.size,
                     p.k, depth('t', d.filter), h.filter, w.filter, options.empty() ? "" : "_",
                     options);
}

// Throws BadInput with the column unless `text` equals `canonical`, which TextOf returned.
void RequireCanonical(std::string_view canonical, std::string_view text, int column_offset) {
  if (canonical == text) return;
  const auto* const differs =
      std::mismatch(canonical.begin(), canonical.end(), text.begin(), text.end()).second;
  throw BadInput({.column = column_offset + static_cast<int>(differs - text.begin()) + 1},
                 "write this problem as {} (without defaults and repeated values)", canonical);
}

Conv3dProblem Parse(std::string_view text, int column_offset, size_t named_axes) {
  const auto read = [&](workload::TextCursor& cursor) {
    const auto problem = ReadLetters(cursor, named_axes);
    RequireCanonical(TextOf(problem, named_axes), text, column_offset);
    return problem;
  };
  return workload::ParseProblem(text, column_offset, read, [&](const Conv3dProblem& problem) {
    CheckShape(problem, named_axes);
  });
}

int64_t Taps(const Conv3dProblem& p) {
  return Product(p, [](const VolumeAxis& axis) { return axis.filter; });
}

// Returns 2 N K C/groups: the FLOPs of all images and channels for one output point and one tap.
int64_t FlopsOfPair(const Conv3dProblem& p) { return 2 * p.n * p.k * (p.c / p.groups); }

}  // namespace

int64_t Outputs(const VolumeAxis& axis) { return (Padded(axis) - Extent(axis)) / axis.stride + 1; }

std::string ToText(const Conv3dProblem& p) { return TextOf(p, kVolume); }
std::string ImageText(const Conv3dProblem& p) { return TextOf(p, kImage); }

Conv3dProblem ParseConv3d(std::string_view text, int column_offset) {
  return Parse(text, column_offset, kVolume);
}
Conv3dProblem ParseImage(std::string_view text, int column_offset) {
  return Parse(text, column_offset, kImage);
}

int64_t Flops(const Conv3dProblem& p) {
  return FlopsOfPair(p) * Product(p, [](const VolumeAxis& axis) {
           return PairsInside({.source = axis.size,
                               .outputs = Outputs(axis),
                               .taps = axis.filter,
                               .stride = axis.stride,
                               .dilation = axis.dilation,
                               .pad_begin = axis.pad_before});
         });
}

int64_t DenseFlops(const Conv3dProblem& p) {
  return FlopsOfPair(p) * Product(p, Outputs) * Taps(p);
}

workload::ProductSizes SizesOf(const Conv3dProblem& p, const std::string& text) {
  const int64_t depth = p.c / p.groups;
  return {text,
          p.n * p.c * Product(p, [](const VolumeAxis& axis) { return axis.size; }),
          p.k * depth * Taps(p),
          p.n * p.k * Product(p, Outputs),
          p.k,
          depth * Taps(p),
          Flops(p)};
}

workload::ProductSizes SizesOf(const Conv3dCase& conv) {
  return SizesOf(conv.problem, ToText(conv.problem));
}

void CheckVariant(const workload::BenchmarkName& name, const workload::ProductCase& conv) {
  if (conv.direction != ProductDirection::kForward)
    workload::RefuseOption(name, "training", "applies to fwd: backward passes always train");
  if (conv.direction == ProductDirection::kBackwardData)
    workload::RefuseOption(name, "bias",
                           "belongs to fwd and bwd_weights: the data gradient does not read it");
}

namespace {

Conv3dCase ReadCase(const workload::BenchmarkName& name,
                    const workload::ProductCapabilities& capabilities) {
  auto conv = workload::ReadProductCase<Conv3dCase>(name, capabilities, ParseConv3d);
  CheckVariant(name, conv);
  return conv;
}

[[maybe_unused]] const bool op_registered = workload::RegisterOp(
    {.name = "Conv3D",
     .words = {"convolution",
               {{"batch", "n"},
                {"filters", "k"},
                {"channels", "c"},
                {"frames", "d", "t _p"},
                {"image", "h", "w _p"},
                {"kernel", "r", "s _p"},
                {"stride", "_s", "_p"},
                {"groups", "_g"}},
               {},
               ProductFlopsOf<ParseConv3d>},
     .flop_convention = "2 per multiply-add of a filter tap inside the volume, in every direction, "
                        "as benchdnn counts; each bias add, relu and add to the bias gradient 1, "
                        "apart",
     .benchdnn = {&kConvDriver},
     .directions = {"fwd", "bwd_data", "bwd_weights"},
     .templates = "Conv3D/cpu/onednn/fwd/{f32,bf16,int8}/*\n"
                  "Conv3D/cpu/onednn/{bwd_data,bwd_weights}/{f32,bf16}/*\n",
     .with_batch = workload::WithBatch("n", ParseConv3d)});

workload::Workload Read(const workload::BenchmarkName& name) {
  return {.repro = ConvBenchdnn(ReadOnednnConv3dCase(name))};
}

[[maybe_unused]] const bool backends_registered =
    workload::RegisterBackend({"Conv3D", "cpu", "onednn", Read, "oneDNN 3.2 or newer"}) &&
    workload::RegisterBackend({"Conv3D", "gpu", "cudnn",
                               workload::CheckedWorkload(ReadCudnnConv3dCase), "the CUDA module"});

}  // namespace

Conv3dCase ReadOnednnConv3dCase(const workload::BenchmarkName& name) {
  return ReadCase(name,
                  {{"f32", "bf16", "f16", "int8"},
                   true,
                   {{"training"}, {"bias"}, {"relu"}, {"scales"}, workload::FpmathOptions()}});
}

Conv3dCase ReadCudnnConv3dCase(const workload::BenchmarkName& name) {
  const auto conv = ReadCase(name, {{"f16", "bf16"}, false, {{"bias"}}});
  if (conv.direction != ProductDirection::kForward)
    workload::RefuseOption(name, "bias", "can only be fused into fwd");
  return conv;
}

namespace {

// A position in a five-dimensional tensor, or its sizes. The outermost dimension is first.
using Five = std::array<int64_t, 5>;

Five PositionOf(int64_t index, const Five& sizes) {
  Five at{};
  for (size_t i = at.size(); i-- > 0; index /= sizes.at(i)) at.at(i) = index % sizes.at(i);
  return at;
}

template <class Of>
Five With(int64_t first, int64_t second, const Conv3dProblem& p, Of of) {
  return {first, second, of(p.axes[0]), of(p.axes[1]), of(p.axes[2])};
}

struct Shapes {
  Five source, weights, destination;
};
Shapes ShapesOf(const Conv3dProblem& p) {
  return {With(p.n, p.c, p, [](const VolumeAxis& axis) { return axis.size; }),
          With(p.k, p.c / p.groups, p, [](const VolumeAxis& axis) { return axis.filter; }),
          With(p.n, p.k, p, Outputs)};
}

// Indices, along one axis, of two elements that are multiplied.
struct Factors {
  int64_t first, second;
};
using FactorList = std::vector<Factors>;

// Returns the indices along an axis of the factors whose products make up element `index` of the
// result: (source, tap) for fwd, (output, tap) for bwd_data, (source, output) for bwd_weights.
FactorList FactorsOf(const VolumeAxis& axis, ProductDirection direction, int64_t index) {
  FactorList factors;
  const auto add_source = [&](int64_t output, int64_t tap, int64_t second) {
    const int64_t source = output * axis.stride + tap * axis.dilation - axis.pad_before;
    if (source >= 0 && source < axis.size) factors.push_back({source, second});
  };
  if (direction == ProductDirection::kBackwardWeights)
    for (int64_t output = 0; output < Outputs(axis); ++output) add_source(output, index, output);
  else if (direction == ProductDirection::kForward)
    for (int64_t tap = 0; tap < axis.filter; ++tap) add_source(index, tap, tap);
  else
    for (int64_t tap = 0; tap < axis.filter; ++tap) {
      const int64_t distance = index + axis.pad_before - tap * axis.dilation;
      if (distance >= 0 && distance % axis.stride == 0 && distance / axis.stride < Outputs(axis))
        factors.push_back({distance / axis.stride, tap});
    }
  return factors;
}

// Equidistant blocks (last three dimensions) of a tensor: address of the first one, and distances
// from block to block, frame to frame and row to row [elements].
struct Blocks {
  const float* begin;
  int64_t block, frame, row;
};
// Returns blocks `first`, `first` + `step`, ...
Blocks BlocksOf(const std::vector<float>& tensor, const Five& sizes, int64_t first, int64_t step) {
  const int64_t row = sizes[4], frame = sizes[3] * row, block = sizes[2] * frame;
  return {tensor.data() + first * block, step * block, frame, row};
}

workload::ProductElement Sum(const Blocks& first, const Blocks& second, int64_t blocks,
                             const std::array<FactorList, 3>& factors) {
  workload::ProductElement sum;
  for (int64_t i = 0; i < blocks; ++i)
    for (const auto& z : factors[0])
      for (const auto& y : factors[1]) {
        const float* const a =
            first.begin + i * first.block + z.first * first.frame + y.first * first.row;
        const float* const b =
            second.begin + i * second.block + z.second * second.frame + y.second * second.row;
        for (const auto& x : factors[2]) sum.Add(double{a[x.first]} * double{b[x.second]});
      }
  return sum;
}

const Five& ResultSizes(const Shapes& shapes, ProductDirection direction) {
  if (direction == ProductDirection::kForward) return shapes.destination;
  return direction == ProductDirection::kBackwardData ? shapes.source : shapes.weights;
}

workload::ProductElement ElementAt(const Conv3dProblem& p, ProductDirection direction,
                                   const workload::ProductInputs& in, int64_t index) {
  const auto shapes = ShapesOf(p);
  const auto at = PositionOf(index, ResultSizes(shapes, direction));
  std::array<FactorList, 3> factors;
  for (size_t i = 0; i < factors.size(); ++i)
    factors.at(i) = FactorsOf(p.axes.at(i), direction, at.at(2 + i));
  const int64_t depth = p.c / p.groups, filters = p.k / p.groups;
  if (direction == ProductDirection::kForward)
    return Sum(BlocksOf(in.source, shapes.source, at[0] * p.c + at[1] / filters * depth, 1),
               BlocksOf(in.weights, shapes.weights, at[1] * depth, 1), depth, factors);
  if (direction == ProductDirection::kBackwardWeights)
    return Sum(BlocksOf(in.source, shapes.source, at[0] / filters * depth + at[1], p.c),
               BlocksOf(in.destination, shapes.destination, at[0], p.k), p.n, factors);
  const int64_t filter = at[1] / depth * filters;
  return Sum(BlocksOf(in.destination, shapes.destination, at[0] * p.k + filter, 1),
             BlocksOf(in.weights, shapes.weights, filter * depth + at[1] % depth, depth), filters,
             factors);
}

// Returns the largest number of products that are summed for one element of the result.
int64_t TermsOf(const Conv3dProblem& p, ProductDirection direction) {
  if (direction == ProductDirection::kForward) return p.c / p.groups * Taps(p);
  const bool of_data = direction == ProductDirection::kBackwardData;
  int64_t terms = of_data ? p.k / p.groups : p.n;
  for (const auto& axis : p.axes) {
    // Without dilation at most one of `stride` adjacent taps reads a given source element.
    const int64_t step = axis.dilation == 1 ? axis.stride : 1;
    terms *= of_data ? (axis.filter + step - 1) / step : Outputs(axis);
  }
  return terms;
}

// Returns indices of elements of a tensor: all corners and random elements. Half of the random
// elements are moved to a border along an image axis, where an error of the padding shows.
std::vector<int64_t> Sampled(const std::vector<int64_t>& sizes, int64_t count, uint64_t seed) {
  const size_t axes = sizes.size() - 2;
  const int64_t corners = int64_t{1} << sizes.size();
  const auto random =
      workload::SeededIndices(count * std::ssize(sizes), seed, std::numeric_limits<int64_t>::max());
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < std::max(count, corners); ++i) {
    const auto border = static_cast<size_t>(i / 2) % (2 * axes);
    int64_t index = 0;
    for (size_t j = 0; j < sizes.size(); ++j) {
      const int64_t last = sizes[j] - 1;
      const bool moved = i % 2 == 0 && j == 2 + border % axes;
      const int64_t at = i < corners ? ((i >> j & 1) != 0 ? last : 0)
                         : moved     ? (border < axes ? 0 : last)
                                 : random.at(static_cast<size_t>(i) * sizes.size() + j) % sizes[j];
      index = index * sizes[j] + at;
    }
    indices.push_back(index);
  }
  return indices;
}

}  // namespace

workload::ProductResult ResultOf(const Conv3dProblem& p, ProductDirection direction,
                                 const workload::ProductInputs& inputs, size_t named_axes) {
  const auto all = ResultSizes(ShapesOf(p), direction);
  std::vector<int64_t> sizes = {all[0], all[1]};
  sizes.insert(sizes.end(), all.end() - static_cast<std::ptrdiff_t>(named_axes), all.end());
  const int64_t volume = Product(p, Outputs);
  return {all[0] * all[1] * all[2] * all[3] * all[4],
          TermsOf(p, direction),
          [sizes](int64_t count, uint64_t seed) { return Sampled(sizes, count, seed); },
          [p, direction, &inputs](int64_t index) { return ElementAt(p, direction, inputs, index); },
          [volume, k = p.k](int64_t index) { return index / volume % k; },
          [volume, n = p.n, k = p.k, &inputs](int64_t filter) {
            workload::ProductElement sum;
            for (int64_t image = 0; image < n; ++image)
              for (int64_t i = 0; i < volume; ++i)
                sum.Add(inputs.destination[static_cast<size_t>((image * k + filter) * volume + i)]);
            return sum;
          }};
}

}  // namespace dlroof::conv2d
