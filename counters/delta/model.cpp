#include "counters/delta/model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "counters/base/error.h"

namespace dlroof::delta {
namespace {

// Returns the sum of sectors over all blocks of rows x columns indices of the matrix. For more than
// `most` blocks it extrapolates from `most` blocks at positions of the R2 sequence (fractions of
// powers of the plastic number), which does not resonate with any period of the layer.
double SumOfBlocks(const Operand& matrix, int64_t rows, int64_t columns, int64_t sector,
                   int64_t most) {
  const int64_t all_rows = Size(matrix.rows), all_columns = Size(matrix.columns);
  const int64_t down = CeilDiv(all_rows, rows), across = CeilDiv(all_columns, columns);
  const auto block = [&](int64_t i, int64_t j) {
    return RunSectors(matrix, {i * rows, std::min((i + 1) * rows, all_rows)},
                      {j * columns, std::min((j + 1) * columns, all_columns)}, sector);
  };
  double sum = 0;
  if (static_cast<double>(down) * static_cast<double>(across) <= static_cast<double>(most)) {
    for (int64_t i = 0; i < down; ++i)
      for (int64_t j = 0; j < across; ++j) sum += block(i, j);
    return sum;
  }
  const auto place = [](int64_t index, double step, int64_t count) {
    const double at = std::fmod(0.5 + static_cast<double>(index + 1) * step, 1.0);
    return std::min(count - 1, static_cast<int64_t>(at * static_cast<double>(count)));
  };
  for (int64_t i = 0; i < most; ++i)
    sum += block(place(i, 0.7548776662466927, down), place(i, 0.5698402909980532, across));
  return sum * static_cast<double>(down) * static_cast<double>(across) / static_cast<double>(most);
}

// The block that one warp load reads: up to 32 lanes along memory, the other lanes across.
struct WarpBlock {
  int64_t rows = 1, columns = 1;
};
WarpBlock WarpBlockOf(const Operand& matrix, int64_t rows, int64_t columns) {
  constexpr int64_t kWarpLanes = 32;
  const int64_t along = std::min(kWarpLanes, matrix.lanes_along_columns ? columns : rows);
  const int64_t across = std::max<int64_t>(1, kWarpLanes / along);
  if (matrix.lanes_along_columns) return {std::min(across, rows), along};
  return {along, std::min(across, columns)};
}

// [sector] Sectors of one operand, summed over all tiles as if only one CTA loaded each tile.
struct OperandSectors {
  double warp = 0;  // sum over warp loads (32 lanes, an element each)
  double step = 0;  // distinct sectors of a K-step, summed over steps and tiles
  double tile = 0;  // distinct sectors of a tile's K range, summed over tiles
};

OperandSectors ModelOperand(const Operand& matrix, int64_t rows, int64_t step, int64_t slice,
                            int64_t sector) {
  const auto warp = WarpBlockOf(matrix, rows, step);
  return {.warp = SumOfBlocks(matrix, warp.rows, warp.columns, sector, 64),
          .step = SumOfBlocks(matrix, rows, step, sector, 32),
          .tile = SumOfBlocks(matrix, rows, slice, sector, 12)};
}

void CheckTile(const CtaTile& tile, const CacheShape& caches) {
  for (const int64_t size : {tile.m, tile.n, tile.k, tile.slices, tile.cluster_m, tile.cluster_n,
                             caches.sector_bytes, caches.dram_sector_bytes})
    if (size < 1) throw BadInput("the sizes of a tile must be at least 1, got {}", size);
}

constexpr double kPartialSumBytes = 4;

// Returns the columns of A and B [1] in a slice of K, a multiple of the K-step.
int64_t SliceOf(const ConvGemm& gemm, const CtaTile& tile) {
  return CeilDiv(CeilDiv(gemm.k, tile.k), tile.slices) * tile.k;
}

// Returns the bytes of all groups at L1 and L2.
TrafficBytes OnChip(const ConvGemm& gemm, const CtaTile& tile, int64_t sector) {
  const int64_t slice = SliceOf(gemm, tile);
  const int64_t tiles_m = CeilDiv(gemm.m, tile.m), tiles_n = CeilDiv(gemm.n, tile.n);
  const auto a = ModelOperand(gemm.a, tile.m, tile.k, slice, sector);
  const auto b = ModelOperand(gemm.b, tile.n, tile.k, slice, sector);
  const auto groups = static_cast<double>(gemm.groups);
  const double g = groups * static_cast<double>(sector);
  const double a_times = g * static_cast<double>(tiles_n);
  const double b_times = g * static_cast<double>(tiles_m) * tile.taps;
  const double a_clusters = g * static_cast<double>(CeilDiv(tiles_n, tile.cluster_n));
  const double b_clusters = g * static_cast<double>(CeilDiv(tiles_m, tile.cluster_m)) * tile.taps;
  const auto warp = WarpBlockOf(gemm.c, tile.m, tile.n);
  TrafficBytes bytes{.l1_loads = a_times * a.warp + b_times * b.warp,
                     .l2_step_loads = a_clusters * a.step + b_clusters * b.step,
                     .l2_tile_loads = a_clusters * a.tile + b_clusters * b.tile,
                     .stores = g * SumOfBlocks(gemm.c, warp.rows, warp.columns, sector, 64)};
  if (const int64_t slices = CeilDiv(gemm.k, slice); slices > 1)
    bytes.stores += 2 * kPartialSumBytes * groups * static_cast<double>(gemm.m) *
                    static_cast<double>(gemm.n) * static_cast<double>(slices);
  return bytes;
}

// Returns the row tiles (of A) of the CTAs [begin, end), ascending and disjoint.
IndexRanges RowTiles(int64_t begin, int64_t end, int64_t tiles_m) {
  if (end - begin >= tiles_m) return {{0, tiles_m}};
  const int64_t from = begin % tiles_m, to = (end - 1) % tiles_m + 1;
  if (from < to) return {{from, to}};
  return {{0, to}, {from, tiles_m}};
}

// Returns rows that touch equally many sectors: at the same offset in the rows' period.
IndexRanges InFirstPeriod(const Operand& matrix, IndexRanges rows, int64_t sector) {
  const auto period = PeriodOf(matrix.rows);
  if (!period || rows.size() != 1) return rows;
  auto& [begin, end] = rows[0];
  const int64_t repeats = sector / std::gcd(sector, period->bytes) * period->indices;
  end -= begin - begin % repeats;
  begin %= repeats;
  return rows;
}

// Returns a function that counts sectors. It caches its answers.
TileSectors SectorsOf(const Operand& matrix, int64_t tile, IndexRange columns, int64_t sector) {
  return [=, &matrix, answers = std::map<IndexRanges, double>()](const IndexRanges& tiles) mutable {
    IndexRanges rows;
    for (const auto& [begin, end] : tiles)
      rows.emplace_back(begin * tile, std::min(end * tile, Size(matrix.rows)));
    const auto [found, added] = answers.try_emplace(InFirstPeriod(matrix, rows, sector), 0.0);
    if (added)
      for (const auto& range : rows) found->second += RunSectors(matrix, range, columns, sector);
    return found->second;
  };
}

// Returns the number of sectors that CTAs [begin, end) touch and CTAs [cached, begin) do not.
template <class Touched>
double Reads(const Touched& touched, int64_t cached, int64_t begin, int64_t end) {
  return touched(cached, end) - (cached == begin ? 0 : touched(cached, begin));
}

}  // namespace

double CopiesInL2(double partitions, double readers) {
  return 1 + (partitions - 1) * (1 - std::pow(1 - 1 / partitions, readers));
}

WaveSectors WalkWaves(const WaveGrid& grid, const TileSectors& a, const TileSectors& b) {
  WaveSectors sum;
  const int64_t ctas = grid.tiles_m * grid.tiles_n;
  const auto rows = [&](int64_t begin, int64_t end) {
    return a(RowTiles(begin, end, grid.tiles_m));
  };
  const auto columns = [&](int64_t begin, int64_t end) {
    return b({{begin / grid.tiles_m, (end - 1) / grid.tiles_m + 1}});
  };
  // A's data of a row is read by one CTA per column of tiles, B's data of a column by one per row.
  const auto a_copies = [&](int64_t begin, int64_t end) {
    return CopiesInL2(grid.partitions, static_cast<double>(CeilDiv(end - begin, grid.tiles_m)));
  };
  const auto b_copies = [&](int64_t begin, int64_t end) {
    return CopiesInL2(grid.partitions, static_cast<double>(std::min(end - begin, grid.tiles_m)));
  };
  const auto occupied = [&](int64_t begin, int64_t end) {
    return rows(begin, end) * a_copies(begin, end) + columns(begin, end) * b_copies(begin, end);
  };
  int64_t cached = 0;  // data of the CTAs from this one on is still in L2
  for (int64_t begin = 0; begin < ctas; begin += grid.ctas_per_wave) {
    const int64_t end = std::min(begin + grid.ctas_per_wave, ctas);
    while (cached < begin && occupied(cached, begin) > grid.cache_sectors)
      cached += grid.ctas_per_wave;
    cached = std::min(cached, begin);
    sum.a += Reads(rows, cached, begin, end);
    const int64_t before = std::max<int64_t>(0, begin - grid.ctas_per_wave);
    const bool stays = columns(before, end) * b_copies(before, end) <= grid.cache_sectors / 2;
    sum.b += Reads(columns, stays ? std::min(cached, before) : cached, begin, end);
  }
  return sum;
}

double Total(const DramBytes& bytes) { return bytes.a + bytes.b + bytes.c; }

namespace {

// Returns the DRAM traffic of all waves [byte]. Assumes that all groups have the same alignment and
// that all slices but the last are equal.
DramBytes DramOfWaves(const ConvGemm& gemm, const CtaTile& tile, int64_t result_bytes,
                      int64_t sector, const L2Cache& cache) {
  const int64_t slice = SliceOf(gemm, tile);
  const int64_t slices = CeilDiv(gemm.k, slice);
  const auto bytes_per_sector = static_cast<double>(sector);
  // Clusters of several columns run together: they count as one CTA with a wider tile.
  const int64_t width = tile.n * tile.cluster_n;
  const auto across = static_cast<double>(tile.cluster_n);
  const WaveGrid grid{CeilDiv(gemm.m, tile.m), CeilDiv(gemm.n, width),
                      std::max<int64_t>(1, std::llround(cache.ctas_per_wave / across)),
                      cache.bytes / bytes_per_sector, cache.partitions};
  DramBytes sum;
  const auto add = [&](IndexRange columns, double times) {
    const auto waves = WalkWaves(grid, SectorsOf(gemm.a, tile.m, columns, sector),
                                 SectorsOf(gemm.b, width, columns, sector));
    sum.a += times * waves.a * bytes_per_sector;
    sum.b += times * waves.b * bytes_per_sector;
  };
  const auto groups = static_cast<double>(gemm.groups);
  if (slices > 1) add({0, slice}, groups * static_cast<double>(slices - 1));
  add({(slices - 1) * slice, gemm.k}, groups);
  const double stored = slices > 1 ? kPartialSumBytes * static_cast<double>(slices)
                                   : static_cast<double>(result_bytes);
  sum.c = groups * static_cast<double>(gemm.m) * static_cast<double>(gemm.n) * stored;
  return sum;
}

}  // namespace

double L1Bytes(const TrafficBytes& traffic) { return traffic.l1_loads + traffic.stores; }
double L2StepBytes(const TrafficBytes& traffic) { return traffic.l2_step_loads + traffic.stores; }
double L2TileBytes(const TrafficBytes& traffic) { return traffic.l2_tile_loads + traffic.stores; }

TrafficBytes ModelTraffic(const ConvLayer& layer, const CtaTile& tile, const CacheShape& caches) {
  const auto gemm = GemmOf(layer);
  CheckTile(tile, caches);
  auto bytes = OnChip(gemm, tile, caches.sector_bytes);
  bytes.dram = DramOfWaves(gemm, tile, ResultBytes(layer), caches.dram_sector_bytes, caches.l2);
  return bytes;
}

namespace {

struct Sizes {
  ConvShape s;
  int64_t p, q, cg, kg, e;  // output rows and columns, channels and filters per group, element
};

Axis Linear(int64_t count, int64_t bytes) { return {{Digit{count, 0, 0, bytes}, {}, {}}}; }

// Returns the axis channels (or filters) x taps of a gathered matrix. `sign`: -1 if data gradient.
Axis Taps(const Sizes& z, int64_t channels, int64_t channel_bytes, int sign, bool nhwc) {
  const Digit c{channels, 0, 0, channel_bytes};
  const Digit fy{z.s.r, sign * z.s.dilation_h, 0, 0}, fx{z.s.s, 0, sign * z.s.dilation_w, 0};
  if (nhwc) return {{fy, fx, c}};
  return {{c, fy, fx}};
}

Axis OutputPixels(const Sizes& z, int64_t image_bytes) {
  return {{Digit{z.s.n, 0, 0, image_bytes}, Digit{z.p, z.s.stride_h, 0, 0},
           Digit{z.q, 0, z.s.stride_w, 0}},
          -z.s.pad_top,
          -z.s.pad_left};
}

// Returns an image of height x width pixels as a matrix of `pixels` x filter taps. `channels` of
// its `all_channels` are in a group. `sign`: that of Taps.
Operand Gathered(const Sizes& z, const Axis& pixels, int64_t height, int64_t width,
                 int64_t channels, int64_t all_channels, int sign, bool nhwc) {
  const int64_t pixel = nhwc ? all_channels * z.e : z.e;
  const int64_t channel = nhwc ? z.e : height * width * z.e;  // [byte] from a channel to the next
  return {.rows = pixels,
          .columns = Taps(z, channels, channel, sign, nhwc),
          .limit_h = height,
          .limit_w = width,
          .line_bytes = width * pixel,
          .pixel_bytes = pixel,
          .group_bytes = channels * channel,
          .lanes_along_columns = nhwc,
          .gathered = true};
}

// Returns the input as a matrix of output pixels x filter taps.
Operand InputGather(const Sizes& z, bool nhwc) {
  return Gathered(z, OutputPixels(z, z.s.c * z.s.h * z.s.w * z.e), z.s.h, z.s.w, z.cg, z.s.c, 1,
                  nhwc);
}

// Returns the output's gradient as a matrix of input pixels x filter taps.
Operand OutputGather(const Sizes& z, bool nhwc) {
  const Axis pixels = {
      {Digit{z.s.n, 0, 0, z.s.k * z.p * z.q * z.e}, Digit{z.s.h, 1, 0, 0}, Digit{z.s.w, 0, 1, 0}},
      z.s.pad_top,
      z.s.pad_left};
  auto output = Gathered(z, pixels, z.p, z.q, z.kg, z.s.k, -1, nhwc);
  output.step_h = z.s.stride_h;
  output.step_w = z.s.stride_w;
  return output;
}

// Returns a tensor as a matrix of pixels x channels of one group.
Operand PixelsByChannels(const Sizes& z, int64_t pixels, int64_t channels, int64_t per_group,
                         bool nhwc) {
  const int64_t plane = pixels * z.e, channel = nhwc ? z.e : plane;
  const Axis planes = {{Digit{z.s.n, 0, 0, channels * plane}, {}, Digit{pixels, 0, 0, z.e}}};
  return {.rows = nhwc ? Linear(z.s.n * pixels, channels * z.e) : planes,
          .columns = Linear(per_group, channel),
          .group_bytes = per_group * channel,
          .lanes_along_columns = nhwc};
}

Operand Transposed(Operand matrix) {
  std::swap(matrix.rows, matrix.columns);
  matrix.lanes_along_columns = !matrix.lanes_along_columns;
  matrix.taps_along_rows = matrix.gathered && !matrix.taps_along_rows;
  return matrix;
}

// Returns the weights as a matrix of filters x (channels, taps), contiguous in both layouts.
Operand FilterRows(const Sizes& z) {
  const int64_t row = z.cg * z.s.r * z.s.s;
  return {.rows = Linear(z.kg, row * z.e),
          .columns = Linear(row, z.e),
          .group_bytes = z.kg * row * z.e,
          .lanes_along_columns = true};
}

// Returns the weights as a matrix of channels x (filters, taps), for the data gradient.
Operand ChannelRows(const Sizes& z, bool nhwc) {
  const int64_t taps = z.s.r * z.s.s, filter = z.cg * taps * z.e;
  const Digit filters{z.kg, 0, 0, filter};
  const Axis krsc = {
      {Digit{z.s.r, 0, 0, z.s.s * z.cg * z.e}, Digit{z.s.s, 0, 0, z.cg * z.e}, filters}};
  const Axis kcrs = {{filters, {}, Digit{taps, 0, 0, z.e}}};
  return {.rows = Linear(z.cg, nhwc ? z.e : taps * z.e),
          .columns = nhwc ? krsc : kcrs,
          .group_bytes = z.kg * filter,
          .lanes_along_columns = !nhwc};
}

void Check(const ConvLayer& layer) {
  const ConvShape& s = layer.shape;
  for (const int64_t size : {s.n, s.c, s.h, s.w, s.k, s.r, s.s, s.stride_h, s.stride_w,
                             s.dilation_h, s.dilation_w, s.groups})
    if (size < 1) throw BadInput("the sizes of a convolution must be at least 1, got {}", size);
  if (s.c % s.groups != 0 || s.k % s.groups != 0)
    throw BadInput("{} groups do not divide {} channels and {} filters", s.groups, s.c, s.k);
  if (OutputRows(s) < 1 || OutputColumns(s) < 1)
    throw BadInput("the filter is larger than the padded image");
  for (const int64_t bytes : {layer.element_bytes, ResultBytes(layer)})
    if (bytes < 1 || bytes > 8) throw BadInput("an element must have 1 to 8 bytes, got {}", bytes);
}

// Returns the number of output positions [1] along one side, or 0 if the filter does not fit.
int64_t Positions(int64_t padded, int64_t taps, int64_t dilation, int64_t stride) {
  const int64_t available = padded - (taps - 1) * dilation - 1;
  return available < 0 ? 0 : available / stride + 1;
}

}  // namespace

int64_t ResultBytes(const ConvLayer& layer) {
  return layer.result_bytes.value_or(layer.element_bytes);
}

int64_t OutputRows(const ConvShape& s) {
  return Positions(s.h + s.pad_top + s.pad_bottom, s.r, s.dilation_h, s.stride_h);
}
int64_t OutputColumns(const ConvShape& s) {
  return Positions(s.w + s.pad_left + s.pad_right, s.s, s.dilation_w, s.stride_w);
}

int64_t MultiplyAdds(const ConvShape& s) {
  const FilterAxis rows{s.h, OutputRows(s), s.r, s.stride_h, s.dilation_h, s.pad_top};
  const FilterAxis columns{s.w, OutputColumns(s), s.s, s.stride_w, s.dilation_w, s.pad_left};
  return s.n * s.k * (s.c / s.groups) * PairsInside(rows) * PairsInside(columns);
}

int64_t Size(const Axis& axis) {
  return axis.digits[0].count * axis.digits[1].count * axis.digits[2].count;
}

std::optional<Period> PeriodOf(const Axis& axis) {
  int64_t indices = Size(axis);
  for (const Digit& digit : axis.digits) {
    indices /= digit.count;
    if (digit.count == 1) continue;
    if (digit.dy != 0 || digit.dx != 0 || digit.bytes <= 0) return std::nullopt;
    return Period{indices, digit.bytes};
  }
  return std::nullopt;
}

ConvGemm GemmOf(const ConvLayer& layer) {
  Check(layer);
  const ConvShape& s = layer.shape;
  const Sizes z{
      s, OutputRows(s), OutputColumns(s), s.c / s.groups, s.k / s.groups, layer.element_bytes};
  Sizes result = z;
  result.e = ResultBytes(layer);
  const bool nhwc = layer.layout == TensorLayout::kNhwc;
  ConvGemm gemm{.groups = s.groups};
  switch (layer.direction) {
    case ProductDirection::kForward:
      gemm.a = InputGather(z, nhwc);
      gemm.b = FilterRows(z);
      gemm.c = PixelsByChannels(result, z.p * z.q, s.k, z.kg, nhwc);
      break;
    case ProductDirection::kBackwardData:
      gemm.a = OutputGather(z, nhwc);
      gemm.b = ChannelRows(z, nhwc);
      gemm.c = PixelsByChannels(result, s.h * s.w, s.c, z.cg, nhwc);
      break;
    case ProductDirection::kBackwardWeights:
      gemm.a = Transposed(PixelsByChannels(z, z.p * z.q, s.k, z.kg, nhwc));
      gemm.b = Transposed(InputGather(z, nhwc));
      gemm.c = FilterRows(result);
      break;
  }
  gemm.m = Size(gemm.a.rows);
  gemm.n = Size(gemm.b.rows);
  gemm.k = Size(gemm.a.columns);
  return gemm;
}

}  // namespace dlroof::delta
