#include "bench/conv2d/onednn_levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/library_rules/vector_blocking.h"
#include "bench/workload/device_elements.h"
#include "counters/cpu/core_caches.h"

namespace dlroof {
namespace {

enum Dimension { kN, kG, kK, kP, kQ, kC, kR, kS, kDimensions };

// A forward convolution of any direction's loops: what is read at shifted positions, what is
// written at dense ones. A weight gradient has those of its forward convolution. A data gradient
// reads elements that lie its stride apart: `up_h` and `up_w`.
struct Shape {
  int64_t n = 1, groups = 1, k = 1, c = 1;  // per group
  int64_t h = 1, w = 1, p = 1, q = 1, r = 1, s = 1;
  int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0;
  int64_t up_h = 1, up_w = 1;
  double read_bytes = 4, weight_bytes = 4, written_bytes = 4;  // [byte] per element
};

Shape ForwardShape(const Conv2dCase& conv) {
  const auto& p = conv.problem;
  Shape shape = {p.n,          p.groups,     p.k / p.groups, p.c / p.groups,
                 p.h,          p.w,          OutputRows(p),  OutputColumns(p),
                 p.r,          p.s,          p.stride_h,     p.stride_w,
                 p.dilation_h, p.dilation_w, p.pad_top,      p.pad_left};
  shape.read_bytes = static_cast<double>(ElementBytes(conv.types.source));
  shape.weight_bytes = static_cast<double>(ElementBytes(conv.types.weights));
  shape.written_bytes = static_cast<double>(ElementBytes(conv.types.destination));
  return shape;
}

// The data gradient is a convolution of the output's gradient with turned filters, of which a
// stride leaves each position some taps.
Shape BackwardShape(const Conv2dCase& conv) {
  Shape shape = ForwardShape(conv);
  std::swap(shape.k, shape.c);
  std::swap(shape.h, shape.p);
  std::swap(shape.w, shape.q);
  std::swap(shape.stride_h, shape.up_h);
  std::swap(shape.stride_w, shape.up_w);
  std::swap(shape.read_bytes, shape.written_bytes);
  shape.pad_top = (shape.r - 1) * shape.dilation_h - shape.pad_top;
  shape.pad_left = (shape.s - 1) * shape.dilation_w - shape.pad_left;
  return shape;
}

// Returns the share of the r taps per output row that meets a row of the image, on average.
double TapsInside(const Shape& shape) {
  int64_t inside = 0;
  for (int64_t row = 0; row < shape.p; ++row)
    for (int64_t tap = 0; tap < shape.r; ++tap) {
      const int64_t from = row * shape.stride_h - shape.pad_top + tap * shape.dilation_h;
      inside += from >= 0 && from % shape.up_h == 0 && from / shape.up_h < shape.h ? 1 : 0;
    }
  return static_cast<double>(inside) / static_cast<double>(shape.p * shape.r);
}

NestAxis Along(int dimension, int64_t size) {
  return {{{dimension, 1}}, static_cast<double>(size)};
}

NestAxis Shifted(int positions, int taps, double stride, double dilation, int64_t size) {
  return {{{positions, stride}, {taps, dilation}}, static_cast<double>(size)};
}

ReuseNest NestOf(const Shape& shape) {
  ReuseNest nest;
  for (const int64_t size :
       {shape.n, shape.groups, shape.k, shape.p, shape.q, shape.c, shape.r, shape.s})
    nest.sizes.push_back(static_cast<double>(size));
  const double inside = TapsInside(shape);
  const auto rows = static_cast<double>(shape.up_h), columns = static_cast<double>(shape.up_w);
  nest.tensors = {{"source",
                   shape.read_bytes,
                   {Along(kN, shape.n), Along(kG, shape.groups), Along(kC, shape.c),
                    Shifted(kP, kR, static_cast<double>(shape.stride_h) / rows,
                            static_cast<double>(shape.dilation_h) / rows, shape.h),
                    Shifted(kQ, kS, static_cast<double>(shape.stride_w) / columns,
                            static_cast<double>(shape.dilation_w) / columns, shape.w)},
                   kP,
                   inside},
                  {"weights",
                   shape.weight_bytes,
                   {Along(kG, shape.groups), Along(kK, shape.k), Along(kC, shape.c),
                    Along(kR, shape.r), Along(kS, shape.s)},
                   kP,
                   inside},
                  {"destination",
                   shape.written_bytes,
                   {Along(kN, shape.n), Along(kG, shape.groups), Along(kK, shape.k),
                    Along(kP, shape.p), Along(kQ, shape.q)}}};
  return nest;
}

struct Blocking {
  VectorUnit unit;
  int64_t columns = 1;    // vectors of filters
  int64_t positions = 1;  // of the result in registers
};

double Products(const Shape& shape) {
  return static_cast<double>(shape.n * shape.groups * shape.k * shape.c) *
         static_cast<double>(shape.p * shape.q * shape.r * shape.s) /
         static_cast<double>(shape.up_w) * TapsInside(shape);
}

double CoreBytes(const Shape& shape, const Blocking& blocking) {
  const double products = Products(shape);
  const double written = static_cast<double>(shape.n * shape.groups * shape.k) *
                         static_cast<double>(shape.p * shape.q) * shape.written_bytes;
  const auto filters = std::min<int64_t>(shape.k, blocking.columns * blocking.unit.lanes);
  return products * (shape.read_bytes / static_cast<double>(filters) +
                     shape.weight_bytes / static_cast<double>(blocking.positions)) +
         written;
}

// Multiply-adds of one instruction.
double ProductsPerVector(const Shape& shape, const VectorUnit& unit) {
  return static_cast<double>(unit.lanes) * 4 / shape.read_bytes;
}

// Each vector of weights serves all positions in registers, each element of the source all columns.
void SetLoads(const Shape& shape, const Blocking& blocking, LevelModel& model) {
  const auto lanes = blocking.unit.lanes;
  const auto columns = std::min<int64_t>(blocking.columns, (shape.k + lanes - 1) / lanes);
  model.core_loads =
      Products(shape) / ProductsPerVector(shape, blocking.unit) *
      (1 / static_cast<double>(columns) + 1 / static_cast<double>(blocking.positions));
  model.vector_bytes = 4 * static_cast<double>(lanes);
}

// Elements of one cache line.
double Line(double element_bytes) { return 64 / element_bytes; }

BlockedConv BlockedOf(const Shape& shape) {
  const auto whole = [](double bytes) { return static_cast<int64_t>(bytes); };
  return {shape.n,
          shape.groups,
          shape.k,
          shape.c,
          shape.h,
          shape.w,
          shape.p,
          shape.q,
          shape.r,
          shape.s,
          shape.stride_h,
          shape.stride_w,
          shape.dilation_w,
          shape.pad_left,
          whole(shape.read_bytes),
          whole(shape.weight_bytes),
          whole(shape.written_bytes)};
}

LevelModel BrgemmModel(Shape shape, const VectorUnit& unit, const CoreBlocking& core) {
  const ConvBlocking chosen = BlockingOf(BlockedOf(shape), unit, core.caches, core.threads);
  if (chosen.whole_images && shape.stride_w == 1) {
    shape.q *= shape.p, shape.w *= shape.h;
    shape.p = shape.h = 1;
  }
  const auto real = [](int64_t size) { return static_cast<double>(size); };
  LevelModel model;
  ReuseNest nest = NestOf(shape);
  const NestLoop group{kG, 1}, block{kK, real(chosen.filters)}, image_row{kP, 1};
  const NestLoop positions{kQ, real(chosen.positions)};
  nest.loops = chosen.filters_outside
                   ? std::vector<NestLoop>{{kN, 1}, group, block, image_row, positions}
                   : std::vector<NestLoop>{{kN, 1}, image_row, positions, group, block};
  for (const NestLoop& inner :
       {NestLoop{kC, real(chosen.channels), true}, NestLoop{kR, real(chosen.taps)},
        NestLoop{kQ, real(chosen.rows)}, NestLoop{kR, 1}, NestLoop{kS, 1},
        NestLoop{kC, Line(shape.read_bytes)}})
    nest.loops.push_back(inner);
  model.core_bytes = CoreBytes(shape, {unit, chosen.columns, chosen.rows});
  SetLoads(shape, {unit, chosen.columns, chosen.rows}, model);
  model.nests = {std::move(nest)};
  model.how = fmt::format("blocks of {} filters {}, {} channels, {} of {} positions in registers",
                          chosen.filters, chosen.filters_outside ? "outermost" : "innermost",
                          chosen.channels, chosen.rows, chosen.positions);
  return model;
}

// A strided data gradient makes each row of the result by phases: the positions whose remainder by
// the stride agrees, for which the same taps meet, with all of these and all channels in one call.
LevelModel StridedModel(const Shape& shape, const VectorUnit& unit) {
  Blocking blocking{unit, std::min<int64_t>(4, (shape.k + unit.lanes - 1) / unit.lanes)};
  const int64_t of_phase = (shape.q + shape.up_w - 1) / shape.up_w;
  blocking.positions = RowBlock(unit, blocking.columns, of_phase);
  const bool outside = shape.h * shape.w < shape.k * shape.r * shape.s;
  const auto real = [](int64_t size) { return static_cast<double>(size); };
  const NestLoop group{kG, 1}, block{kK, real(blocking.columns * unit.lanes)}, row{kP, 1};
  LevelModel model;
  ReuseNest nest = NestOf(shape);
  nest.loops = outside ? std::vector<NestLoop>{{kN, 1}, group, block, row}
                       : std::vector<NestLoop>{{kN, 1}, row, group, block};
  for (const NestLoop& inner :
       {NestLoop{kQ, real(blocking.positions * shape.up_w)}, NestLoop{kR, 1}, NestLoop{kS, 1},
        NestLoop{kC, Line(shape.read_bytes)}})
    nest.loops.push_back(inner);
  model.core_bytes = CoreBytes(shape, blocking);
  SetLoads(shape, blocking, model);
  model.nests = {std::move(nest)};
  model.how =
      fmt::format("blocks of {} channels {}, {} of {} positions of a phase in registers",
                  block.step, outside ? "outermost" : "innermost", blocking.positions, of_phase);
  return model;
}

LevelModel JitModel(const Shape& shape, const VectorUnit& unit) {
  Blocking blocking{unit, std::min<int64_t>(4, (shape.k + unit.lanes - 1) / unit.lanes)};
  blocking.positions = std::min(shape.q, MostRows(unit, blocking.columns) + 1);
  const auto filters = static_cast<double>(blocking.columns * unit.lanes);
  LevelModel model;
  ReuseNest nest = NestOf(shape);
  nest.loops = {{kN, 1},
                {kG, 1},
                {kK, filters},
                {kP, 1},
                {kC, static_cast<double>(unit.lanes)},
                {kQ, static_cast<double>(blocking.positions)},
                {kR, 1},
                {kS, 1}};
  model.core_bytes = CoreBytes(shape, blocking);
  SetLoads(shape, blocking, model);
  model.nests = {std::move(nest)};
  model.how = fmt::format("blocks of {} filters outermost, {} input channels at a time", filters,
                          unit.lanes);
  return model;
}

// One filter per channel: nothing is summed over channels, rows of the image are reused.
LevelModel DepthwiseModel(const Shape& shape, const VectorUnit& unit) {
  LevelModel model;
  ReuseNest nest = NestOf(shape);
  const auto channels = static_cast<double>(std::min<int64_t>(shape.groups, 4 * unit.lanes));
  nest.loops = {{kN, 1}, {kP, 1}, {kG, channels}, {kR, 1}};
  // Each of the taps' products reads its source; weights stay in registers along a row.
  model.core_bytes =
      static_cast<double>(shape.n * shape.groups * shape.p * shape.q) *
      (static_cast<double>(shape.r * shape.s) * shape.read_bytes + shape.written_bytes);
  model.nests = {std::move(nest)};
  model.how = fmt::format("depthwise, {} channels at a time", channels);
  return model;
}

// For each pair of channel blocks and each row of the output's gradient, the block of weights is
// read, added to and stored once per tap.
LevelModel WeightGradientModel(const Shape& shape, const VectorUnit& unit) {
  const auto lanes = static_cast<double>(unit.lanes);
  LevelModel model;
  ReuseNest nest = NestOf(shape);
  nest.loops = {{kN, 1}, {kG, 1}, {kK, lanes}, {kC, lanes}, {kP, 1}, {kR, 1}, {kS, 1}};
  const double rows = static_cast<double>(shape.n * shape.groups * shape.p) * TapsInside(shape);
  const double block_visits = rows * static_cast<double>(shape.k * shape.c * shape.r * shape.s);
  // Each multiply-add reads one element of the source for a whole vector of filters; the gradient's
  // vector serves as many input channels as the kernel keeps sums of.
  const double sums = shape.s <= 3 ? 8 : shape.s <= 7 ? 4 : 2;
  const double per_product = shape.read_bytes / lanes + shape.written_bytes / sums;
  model.core_bytes =
      block_visits * (2 * shape.weight_bytes + static_cast<double>(shape.q) * per_product);
  model.core_loads =
      Products(shape) / ProductsPerVector(shape, unit) * (1 + 1 / sums) + 2 * block_visits / lanes;
  model.vector_bytes = 4 * lanes;
  model.nests = {std::move(nest)};
  model.how = fmt::format("blocks of {} filters and {} channels, one row of the gradient at a time",
                          lanes, lanes);
  return model;
}

// The length from `least` to `most` that leaves the least of a last block empty; of several the
// shortest, or the longest.
int64_t BlockLength(int64_t total, int64_t least, int64_t most, bool longest) {
  most = std::clamp<int64_t>(most, 1, total);
  least = std::clamp<int64_t>(least, 1, most);
  const auto blocks_end = [&](int64_t length) { return (total + length - 1) / length * length; };
  int64_t best = most;
  for (int64_t length = most; length >= least; --length)
    if (longest ? blocks_end(length) < blocks_end(best) : blocks_end(length) <= blocks_end(best))
      best = length;
  return best;
}

// The loop that threads share: images, or blocks of filters or channels, whichever needs the least
// elements a thread, results counting twelvefold.
NestLoop SharedLoop(const Shape& shape, int threads) {
  const double n = threads, positions = static_cast<double>(shape.n * shape.q);
  const auto k = static_cast<double>(shape.k), c = static_cast<double>(shape.c);
  const double by_images = (k + c) * positions / n + 12 * k * c;
  const double by_channels = (k + c / n) * positions + 12 * k * c / n;
  const double by_filters = (k / n + c) * positions + 12 * k * c / n;
  if (by_images < std::min(by_filters, by_channels)) return {kN, 1};
  return by_filters <= by_channels ? NestLoop{kK, std::ceil(k / n)}
                                   : NestLoop{kC, std::ceil(c / n)};
}

// A weight gradient of 1x1: for each image (or part of it, as long as L1 holds the columns of half
// a block) a product over its positions, three vectors of filters by half a block of channels in
// registers.
LevelModel OneByOneWeightsModel(Shape shape, const VectorUnit& unit, const CoreBlocking& core) {
  shape.q *= shape.p;
  shape.p = shape.h = 1;
  shape.w = shape.q;  // of strided sources only those positions are read
  shape.stride_h = shape.stride_w = 1;
  const int64_t lanes = unit.lanes, half = lanes / 2;
  const auto blocks = [&](int64_t size) { return (size + lanes - 1) / lanes; };
  const auto l1_elements = static_cast<int64_t>(core.caches.l1_bytes / 4) / half;
  const auto real = [](int64_t size) { return static_cast<double>(size); };
  const int64_t positions = BlockLength(shape.q, 28, l1_elements, true);
  const int64_t channels = lanes * BlockLength(blocks(shape.c), 5, shape.c, false);
  const int64_t filters = lanes * BlockLength(blocks(shape.k), 16, shape.k, false);
  const int64_t columns = std::min<int64_t>(3, blocks(shape.k));
  LevelModel model;
  ReuseNest nest = NestOf(shape);
  nest.loops = {SharedLoop(shape, core.threads),
                {kN, 1},
                {kG, 1},
                {kQ, real(positions)},
                {kC, real(channels)},
                {kK, real(filters)},
                {kK, real(columns * lanes)},
                {kC, real(half)},
                {kQ, 1}};
  const double vectors = Products(shape) / ProductsPerVector(shape, unit);
  const double visits = real(shape.n * ((shape.q + positions - 1) / positions)) *
                        real(shape.groups * shape.k * shape.c) / real(lanes);
  model.core_loads = vectors * (1 / real(columns) + 1 / real(half)) + 2 * visits;
  model.vector_bytes = 4 * real(lanes);
  model.core_bytes = vectors * (4 / real(columns) + model.vector_bytes / real(half)) +
                     2 * visits * model.vector_bytes;
  model.nests = {std::move(nest)};
  model.how = fmt::format("{} positions at a time, {} channels by {} filters in registers",
                          positions, half, columns * lanes);
  return model;
}

LevelModel NotModelled(std::string why) { return LevelModel{.why_not = std::move(why)}; }

}  // namespace

CoreBlocking BlockingHere(int threads) {
  static const auto caches = CoreCaches();
  CoreBlocking core{{}, threads};
  if (const auto l1 = caches.find(Level::kL1); l1 != caches.end())
    core.caches.l1_bytes = l1->second;
  if (const auto l2 = caches.find(Level::kL2); l2 != caches.end())
    core.caches.l2_bytes = l2->second;
  return core;
}

LevelModel Conv2dLevels(const Conv2dCase& conv, std::string_view implementation,
                        std::string_view isa, const CoreBlocking& core) {
  const bool forward = conv.direction == ProductDirection::kForward;
  const bool dense = conv.problem.stride_h == 1 && conv.problem.stride_w == 1;
  const bool brgemm = implementation.starts_with("brgconv");
  const bool one_by_one = implementation.starts_with("jit_1x1");
  const bool jit = implementation.starts_with("jit") || implementation.starts_with("brdgmm");
  const Shape shape =
      conv.direction == ProductDirection::kBackwardData ? BackwardShape(conv) : ForwardShape(conv);
  const VectorUnit unit = VectorUnitOf(implementation, isa);
  const bool depthwise = shape.groups > 1 && shape.c == 1 && shape.k == 1;
  if (conv.direction == ProductDirection::kBackwardWeights && jit && !one_by_one && !depthwise)
    return WeightGradientModel(shape, unit);
  if (conv.direction == ProductDirection::kBackwardWeights && one_by_one && !depthwise)
    return OneByOneWeightsModel(shape, unit, core);
  if (conv.direction == ProductDirection::kBackwardData && !depthwise &&
      implementation.starts_with("brgconv_strided"))
    return StridedModel(shape, unit);
  const bool backward = conv.direction == ProductDirection::kBackwardData && dense &&
                        (brgemm || (one_by_one && !depthwise));
  if (!forward && !backward)
    return NotModelled(
        fmt::format("the loops of {} by {} are not modelled", Key(conv.direction), implementation));
  if (depthwise && (jit || brgemm)) return DepthwiseModel(shape, unit);
  if (brgemm) return BrgemmModel(shape, unit, core);
  if (jit) return JitModel(shape, unit);
  return NotModelled(fmt::format("the loops of {} are not modelled", implementation));
}

}  // namespace dlroof
