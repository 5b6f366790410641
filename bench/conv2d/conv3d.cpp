#include "bench/conv2d/conv3d.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/conv2d/case.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/filter_axis.h"

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

// Parse the values after the letter in the problem's text: "2", "1x2x2" or, for padding,
// "2:0x1:1x1:1".
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

}  // namespace dlroof::conv2d
