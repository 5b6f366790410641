#include "counters/delta/exact.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <tuple>

#include "counters/base/error.h"

namespace dlroof::delta {
namespace {

constexpr int64_t kLanes = 32;

std::vector<AxisPlace> PlacesOf(const Axis& axis, const IndexRanges& ranges) {
  std::vector<AxisPlace> places;
  for (const auto& [begin, end] : ranges)
    for (int64_t i = begin; i < end; ++i) places.push_back(At(axis, i));
  return places;
}

// Collects the sectors of the added addresses.
class SectorSet {
 public:
  explicit SectorSet(int64_t sector) : sector_(sector) {}

  void Add(int64_t address) {
    const int64_t at = address / sector_;
    if (at == last_) return;
    last_ = at;
    sectors_.push_back(at);
  }
  int64_t CountAndClear() {
    std::ranges::sort(sectors_);
    const auto count = std::unique(sectors_.begin(), sectors_.end()) - sectors_.begin();
    sectors_.clear();
    last_ = -1;
    return count;
  }

 private:
  int64_t sector_, last_ = -1;
  std::vector<int64_t> sectors_;
};

// Counts the touched sectors by visiting each element in the order of memory, lanes innermost.
int64_t Visit(const Operand& matrix, const IndexRanges& rows, const IndexRanges& columns,
              int64_t base, int64_t sector) {
  const auto across = PlacesOf(matrix.lanes_along_columns ? matrix.rows : matrix.columns,
                               matrix.lanes_along_columns ? rows : columns);
  const auto along = PlacesOf(matrix.lanes_along_columns ? matrix.columns : matrix.rows,
                              matrix.lanes_along_columns ? columns : rows);
  SectorSet set(sector);
  for (const AxisPlace& outer : across)
    for (const AxisPlace& inner : along)
      if (const auto at = Address(matrix, inner, outer); at != kNowhere) set.Add(at + base);
  return set.CountAndClear();
}

// A long range of indices, cut into a head, many equal stretches and a tail. The addresses of two
// stretches differ by a multiple of the sector size.
struct Stretches {
  IndexRanges ends;         // head and tail, each with two stretches and a remainder
  IndexRange single, pair;  // a stretch; two consecutive stretches
  int64_t left_out = 0;     // [1] stretches between head and tail
};

std::optional<Stretches> CutIntoStretches(const Axis& axis, const IndexRanges& ranges,
                                          int64_t sector) {
  const auto period = PeriodOf(axis);
  if (!period || ranges.size() != 1) return std::nullopt;
  const auto [begin, end] = ranges[0];
  const int64_t length = period->indices * (sector / std::gcd(sector, period->bytes));
  const int64_t first = CeilDiv(begin, period->indices) * period->indices;
  const int64_t count = end > first ? (end - first) / length : 0;
  if (count < 6) return std::nullopt;
  const int64_t head = first + 2 * length, tail = first + (count - 2) * length;
  return Stretches{
      {{begin, head}, {tail, end}}, {head, head + length}, {head, head + 2 * length}, count - 4};
}

// Only neighbouring stretches share sectors. The union therefore has the sectors of head and tail
// and of each stretch between them, minus the sectors that each pair of neighbours shares.
template <class Count>
int64_t UnionOfStretches(const Stretches& cut, const Count& count) {
  const int64_t single = count({cut.single}), pair = count({cut.pair});
  const int64_t shared = 2 * single - pair;
  return count(cut.ends) + cut.left_out * single - (cut.left_out + 1) * shared;
}

// Returns a complete axis of taps x channels as channels x taps, which has a period, or nullopt.
std::optional<Axis> ChannelsFirst(const Axis& axis, const IndexRanges& ranges) {
  const Digit& inner = axis.digits[2];
  if (PeriodOf(axis) || inner.bytes <= 0 || inner.dy != 0 || inner.dx != 0 || inner.count == 1 ||
      ranges != IndexRanges{{0, Size(axis)}})
    return std::nullopt;
  return Axis{{inner, axis.digits[0], axis.digits[1]}, axis.y, axis.x};
}

// Ranges of an axis with equal phases have the same addresses up to a multiple of the sector size.
using Phase = std::tuple<int64_t, int64_t, int64_t>;  // begin in the period, alignment, length

Phase PhaseOf(const Axis& axis, IndexRange range, int64_t sector) {
  const auto period = PeriodOf(axis);
  const int64_t length = range.second - range.first;
  const Digit& inner = axis.digits[2];
  const bool one_run = range.first / inner.count == (range.second - 1) / inner.count;
  if (!period && inner.dy == 0 && inner.dx == 0 && one_run)  // channels of one filter tap
    return {-1 - range.first / inner.count, range.first % inner.count * inner.bytes % sector,
            length};
  if (!period) return {range.first, 0, length};
  return {range.first % period->indices, range.first / period->indices * period->bytes % sector,
          length};
}

std::vector<IndexRange> Cut(int64_t begin, int64_t end, int64_t length) {
  std::vector<IndexRange> pieces;
  for (int64_t at = begin; at < end; at += length)
    pieces.emplace_back(at, std::min(at + length, end));
  return pieces;
}

// The number of ranges with equal phases, and one of these ranges.
struct PhaseClass {
  IndexRange range;
  double count = 0;
};
std::vector<PhaseClass> Classes(const Axis& axis, const std::vector<IndexRange>& ranges,
                                int64_t sector) {
  std::map<Phase, PhaseClass> classes;
  for (const auto& range : ranges) {
    auto& found = classes[PhaseOf(axis, range, sector)];
    found.range = range;
    found.count += 1;
  }
  std::vector<PhaseClass> list;
  list.reserve(classes.size());
  for (const auto& [phase, found] : classes) list.push_back(found);
  return list;
}

struct BlockSectors {
  double warp = 0, block = 0;
};

// Counts one K-step's sectors of a tile: the sum over warp loads, and the different sectors.
BlockSectors CountBlock(const Operand& matrix, IndexRange rows, IndexRange columns, int64_t lanes,
                        int64_t sector, int64_t base) {
  const bool by_column = matrix.lanes_along_columns;
  const auto along =
      PlacesOf(by_column ? matrix.columns : matrix.rows, {by_column ? columns : rows});
  const auto across =
      PlacesOf(by_column ? matrix.rows : matrix.columns, {by_column ? rows : columns});
  const auto width = static_cast<size_t>(std::min(lanes, kLanes));
  const size_t depth = static_cast<size_t>(kLanes) / width;
  BlockSectors sum;
  SectorSet warp(sector), block(sector);
  for (size_t d = 0; d < across.size(); d += depth)
    for (size_t w = 0; w < along.size(); w += width) {
      for (size_t j = d; j < std::min(d + depth, across.size()); ++j)
        for (size_t i = w; i < std::min(w + width, along.size()); ++i)
          if (const auto at = Address(matrix, along[i], across[j]); at != kNowhere) {
            warp.Add(at + base);
            block.Add(at + base);
          }
      sum.warp += static_cast<double>(warp.CountAndClear());
    }
  sum.block = static_cast<double>(block.CountAndClear());
  return sum;
}

// [1] Sizes of an operand's blocks: rows per tile, columns per K-step, columns per slice of K.
struct OperandCut {
  int64_t rows = 1, step = 1, slice = 1;
};

OperandSectors CountTile(const Operand& matrix, IndexRange rows,
                         const std::vector<PhaseClass>& steps,
                         const std::vector<PhaseClass>& slices, const OperandCut& cut,
                         int64_t sector, int64_t base) {
  OperandSectors sum;
  for (const auto& step : steps) {
    const auto block = CountBlock(matrix, rows, step.range,
                                  matrix.lanes_along_columns ? cut.step : cut.rows, sector, base);
    sum.warp += step.count * block.warp;
    sum.step += step.count * block.block;
  }
  for (const auto& slice : slices)
    sum.tile += slice.count *
                static_cast<double>(TouchedSectors(matrix, {rows}, {slice.range}, sector, base));
  return sum;
}

struct Sampled {
  OperandSectors sum;
  double relative_error95 = 0;
};

// Counts the sectors of all classes of row tiles, or of a sample (see `most_elements`).
Sampled CountClasses(const Operand& matrix, std::vector<PhaseClass> classes, const OperandCut& cut,
                     int64_t sector, int64_t base, double most_elements) {
  const auto steps = Classes(matrix.columns, Cut(0, Size(matrix.columns), cut.step), sector);
  const auto slices = Classes(matrix.columns, Cut(0, Size(matrix.columns), cut.slice), sector);
  const double per_tile = static_cast<double>(cut.rows) *
                          (static_cast<double>(cut.step) * static_cast<double>(steps.size()) +
                           static_cast<double>(cut.slice) * static_cast<double>(slices.size()));
  const auto all = classes.size();
  const auto most = static_cast<size_t>(std::max(16.0, most_elements / per_tile));
  if (all > most) {
    std::mt19937_64 random(1);
    std::shuffle(classes.begin(), classes.end(), random);
    classes.resize(most);
  }
  Sampled result;
  double weight = 0, squares = 0, total = 0;
  const double scale = static_cast<double>(all) / static_cast<double>(classes.size());
  for (const auto& [range, count] : classes) {
    const auto tile = CountTile(matrix, range, steps, slices, cut, sector, base);
    result.sum.Add(tile, scale * count);
    weight += 1;
    total += count * tile.warp;
    squares += count * tile.warp * count * tile.warp;
  }
  if (all > classes.size() && total > 0) {
    const double mean = total / weight;
    const double variance = std::max(0.0, squares / weight - mean * mean) / (weight - 1);
    const double finite = 1 - weight / static_cast<double>(all);
    result.relative_error95 = 1.96 * std::sqrt(variance * finite) / mean;
  }
  return result;
}

// Counts the sectors of all groups, once for groups with the same alignment of base addresses.
Sampled CountOperand(const Operand& matrix, const OperandCut& cut, int64_t groups, int64_t sector,
                     double most_elements) {
  std::map<int64_t, double> bases;  // alignment -> groups
  for (int64_t group = 0; group < groups; ++group) bases[group * matrix.group_bytes % sector] += 1;
  const auto classes = Classes(matrix.rows, Cut(0, Size(matrix.rows), cut.rows), sector);
  Sampled sum;
  for (const auto& [base, count] : bases) {
    const auto part = CountClasses(matrix, classes, cut, sector, base, most_elements);
    sum.sum.Add(part.sum, count);
    sum.relative_error95 = std::max(sum.relative_error95, part.relative_error95);
  }
  return sum;
}

}  // namespace

int64_t TouchedSectors(const Operand& matrix, const IndexRanges& rows, const IndexRanges& columns,
                       int64_t sector, int64_t base) {
  if (const auto axis = ChannelsFirst(matrix.columns, columns)) {
    Operand reordered = matrix;
    reordered.columns = *axis;
    return TouchedSectors(reordered, rows, columns, sector, base);
  }
  if (const auto cut = CutIntoStretches(matrix.columns, columns, sector))
    return UnionOfStretches(*cut, [&](const IndexRanges& part) {
      return TouchedSectors(matrix, rows, part, sector, base);
    });
  if (const auto cut = CutIntoStretches(matrix.rows, rows, sector))
    return UnionOfStretches(*cut, [&](const IndexRanges& part) {
      return TouchedSectors(matrix, part, columns, sector, base);
    });
  return Visit(matrix, rows, columns, base, sector);
}

GemmSectors EnumerateSectors(const ConvGemm& gemm, const CtaTile& tile, int64_t sector,
                             double most_elements) {
  for (const int64_t size :
       {tile.m, tile.n, tile.k, tile.slices, tile.cluster_m, tile.cluster_n, sector})
    if (size < 1) throw BadInput("the sizes of a tile must be at least 1, got {}", size);
  GemmSectors sum{.tiles_m = CeilDiv(gemm.m, tile.m),
                  .tiles_n = CeilDiv(gemm.n, tile.n),
                  .steps = CeilDiv(CeilDiv(gemm.k, tile.k), tile.slices)};
  const int64_t slice = sum.steps * tile.k;
  const auto a = CountOperand(gemm.a, {tile.m, tile.k, slice}, gemm.groups, sector, most_elements);
  const auto b = CountOperand(gemm.b, {tile.n, tile.k, slice}, gemm.groups, sector, most_elements);
  const auto c = CountOperand(gemm.c, {tile.m, tile.n, tile.n}, gemm.groups, sector, most_elements);
  sum.a = a.sum;
  sum.b = b.sum;
  sum.store = c.sum.warp * static_cast<double>(CeilDiv(gemm.k, slice));
  sum.relative_error95 = std::max({a.relative_error95, b.relative_error95, c.relative_error95});
  return sum;
}

}  // namespace dlroof::delta
