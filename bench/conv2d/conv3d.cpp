#include "bench/conv2d/conv3d.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "bench/conv2d/case.h"
#include "bench/workload/memory.h"
#include "counters/base/error.h"

namespace dlroof::conv2d {
namespace {

constexpr std::array kAxisNames = {"frames", "rows", "columns"};

int64_t Extent(const VolumeAxis& axis) { return (axis.filter - 1) * axis.dilation + 1; }
int64_t Padded(const VolumeAxis& axis) { return axis.size + axis.pad_before + axis.pad_after; }

// Returns the product of `of(axis)` over the three axes.
template <class Of>
int64_t Product(const Conv3dProblem& p, Of of) {
  return of(p.axes[0]) * of(p.axes[1]) * of(p.axes[2]);
}

// Returns "s2" or "s1x2x2", or "" if all values are `otherwise`.
std::string Triple(char letter, const Conv3dProblem& p, int64_t VolumeAxis::*value,
                   int64_t otherwise) {
  const auto [d, h, w] = p.axes;
  if (d.*value == h.*value && h.*value == w.*value)
    return d.*value == otherwise ? "" : fmt::format("{}{}", letter, d.*value);
  return fmt::format("{}{}x{}x{}", letter, d.*value, h.*value, w.*value);
}

std::string PaddingText(const Conv3dProblem& p) {
  const auto equal = [](const VolumeAxis& axis) { return axis.pad_before == axis.pad_after; };
  if (std::ranges::all_of(p.axes, equal)) return Triple('p', p, &VolumeAxis::pad_before, 0);
  const auto [d, h, w] = p.axes;
  return fmt::format("p{}:{}x{}:{}x{}:{}", d.pad_before, d.pad_after, h.pad_before, h.pad_after,
                     w.pad_before, w.pad_after);
}

// Parse the values after a letter of the problem: "2", "1x2x2" or, for padding, "2:0x1:1x1:1".
void ReadTriple(workload::TextCursor& cursor, int64_t least, std::string_view what,
                Conv3dProblem& p, int64_t VolumeAxis::*value) {
  const int64_t first = cursor.Integer(least, what);
  for (auto& axis : p.axes) axis.*value = first;
  if (!cursor.Accept("x")) return;
  p.axes[1].*value = cursor.Integer(least, what);
  cursor.Expect("x");
  p.axes[2].*value = cursor.Integer(least, what);
}

void ReadPadding(workload::TextCursor& cursor, Conv3dProblem& p) {
  const auto before = cursor;
  const int64_t first = cursor.Integer(0, "a padding");
  if (!cursor.Accept(":")) {
    cursor = before;
    ReadTriple(cursor, 0, "a padding", p, &VolumeAxis::pad_before);
    for (auto& axis : p.axes) axis.pad_after = axis.pad_before;
    return;
  }
  p.axes[0].pad_before = first;
  p.axes[0].pad_after = cursor.Integer(0, "a padding");
  for (auto* axis : {&p.axes[1], &p.axes[2]}) {
    cursor.Expect("x");
    axis->pad_before = cursor.Integer(0, "a padding");
    cursor.Expect(":");
    axis->pad_after = cursor.Integer(0, "a padding");
  }
}

// Parses a problem in any spelling; the caller compares with the canonical one.
Conv3dProblem ReadLetters(workload::TextCursor& cursor) {
  Conv3dProblem p;
  auto& [d, h, w] = p.axes;
  cursor.Sizes({{"n", p.n},
                {"c", p.c},
                {"d", d.size},
                {"h", h.size},
                {"w", w.size},
                {"k", p.k},
                {"t", d.filter},
                {"r", h.filter},
                {"s", w.filter}});
  if (cursor.AtEnd()) return p;
  cursor.Expect("_");
  bool any = false;
  if (cursor.Accept("s")) any = true, ReadTriple(cursor, 1, "a stride", p, &VolumeAxis::stride);
  if (cursor.Accept("p")) any = true, ReadPadding(cursor, p);
  if (cursor.Accept("d")) any = true, ReadTriple(cursor, 1, "a dilation", p, &VolumeAxis::dilation);
  if (cursor.Accept("g")) any = true, p.groups = cursor.Integer(1, "a number of groups");
  if (!cursor.AtEnd() || !any)
    cursor.Refuse(any ? "the end, or a later letter in the order s p d g" : "one of s p d g");
  return p;
}

// Throws BadInput (without a column) for an invalid shape.
void CheckShape(const Conv3dProblem& p) {
  for (size_t i = 0; i < p.axes.size(); ++i)
    if (Extent(p.axes.at(i)) > Padded(p.axes.at(i)))
      throw BadInput("the filter spans {} {} but the padded volume has {}", Extent(p.axes.at(i)),
                     kAxisNames.at(i), Padded(p.axes.at(i)));
  if (p.c % p.groups != 0)
    throw BadInput("{} channels do not divide into {} groups", p.c, p.groups);
  if (p.k % p.groups != 0) throw BadInput("{} filters do not divide into {} groups", p.k, p.groups);
  // Size of the widest type, so that no type overflows.
  constexpr int64_t kBytes = 8;
  const auto [d, h, w] = p.axes;
  const auto source = workload::CheckedCount({kBytes, p.n, p.c, Padded(d), Padded(h), Padded(w)},
                                             "the source's size in byte");
  const auto weights = workload::CheckedCount(
      {kBytes, p.k, p.c / p.groups, d.filter, h.filter, w.filter}, "the weights' size in byte");
  const auto destination = workload::CheckedCount(
      {kBytes, p.n, p.k, Outputs(d), Outputs(h), Outputs(w)}, "the destination's size in byte");
  int64_t total = source;
  if (__builtin_add_overflow(total, weights, &total) ||
      __builtin_add_overflow(total, destination, &total))
    throw BadInput("the tensors' size in byte overflows 64 bits");
  workload::CheckedCount({2, p.n, p.k, Outputs(d), Outputs(h), Outputs(w), p.c / p.groups, d.filter,
                          h.filter, w.filter},
                         "the number of FLOPs");
}

int64_t Taps(const Conv3dProblem& p) {
  return Product(p, [](const VolumeAxis& axis) { return axis.filter; });
}

// Returns 2 N K C/groups: the FLOPs per (output, tap) pair of the volume.
int64_t FlopsOfPair(const Conv3dProblem& p) { return 2 * p.n * p.k * (p.c / p.groups); }

}  // namespace

int64_t Outputs(const VolumeAxis& axis) { return (Padded(axis) - Extent(axis)) / axis.stride + 1; }

std::string ToText(const Conv3dProblem& p) {
  auto options = Triple('s', p, &VolumeAxis::stride, 1) + PaddingText(p) +
                 Triple('d', p, &VolumeAxis::dilation, 1);
  if (p.groups != 1) options += fmt::format("g{}", p.groups);
  const auto [d, h, w] = p.axes;
  return fmt::format("n{}c{}d{}h{}w{}k{}t{}r{}s{}{}{}", p.n, p.c, d.size, h.size, w.size, p.k,
                     d.filter, h.filter, w.filter, options.empty() ? "" : "_", options);
}

Conv3dProblem ParseConv3d(std::string_view text, int column_offset) {
  workload::TextCursor cursor(text, column_offset);
  const auto problem = ReadLetters(cursor);
  RequireCanonical(ToText(problem), text, column_offset);
  try {
    CheckShape(problem);
  } catch (const BadInput& error) {
    throw BadInput({.column = column_offset + 1}, error.text);
  }
  return problem;
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

workload::ProductSizes SizesOf(const Conv3dCase& conv) {
  const auto& p = conv.problem;
  const int64_t depth = p.c / p.groups;
  return {ToText(p),
          p.n * p.c * Product(p, [](const VolumeAxis& axis) { return axis.size; }),
          p.k * depth * Taps(p),
          p.n * p.k * Product(p, Outputs),
          p.k,
          depth * Taps(p),
          Flops(p)};
}

namespace {

Conv3dCase ReadCase(const workload::BenchmarkName& name,
                    const workload::ProductCapabilities& capabilities) {
  Conv3dCase conv;
  workload::ReadProductCase(
      name, capabilities, [&](int column) { conv.problem = ParseConv3d(name.problem, column); },
      conv);
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
     .with_batch = WithBatch<ParseConv3d>});

workload::Workload Read(const workload::BenchmarkName& name) {
  return {.repro = ConvBenchdnn(ReadOnednnConv3dCase(name))};
}

[[maybe_unused]] const bool backends_registered =
    workload::RegisterBackend({"Conv3D", "cpu", "onednn", Read, "oneDNN 3.2 or newer"}) &&
    workload::RegisterBackend({"Conv3D", "gpu", "cudnn",
                               workload::CheckedWorkload<ReadCudnnConv3dCase>, "the CUDA module"});

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
