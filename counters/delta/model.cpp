#include "counters/delta/model.h"

#include <algorithm>
#include <cmath>

#include "counters/base/error.h"

namespace dlroof::delta {
namespace {

// Sum over all blocks of rows x columns indices that cut the matrix. Beyond `most` blocks a
// sample of so many stands for all, spread by the R2 sequence (fractions of powers of the plastic
// number), which falls into step with no period of the layer.
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

// A warp's load: as many lanes along memory as the tile has, the rest across.
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

OperandSectors ModelOperand(const Operand& matrix, int64_t rows, int64_t step, int64_t slice,
                            int64_t sector) {
  const auto warp = WarpBlockOf(matrix, rows, step);
  return {.warp = SumOfBlocks(matrix, warp.rows, warp.columns, sector, 64),
          .step = SumOfBlocks(matrix, rows, step, sector, 32),
          .tile = SumOfBlocks(matrix, rows, slice, sector, 12)};
}

GemmSectors ModelSectors(const ConvGemm& gemm, const CtaTile& tile, int64_t sector) {
  GemmSectors sum{.tiles_m = CeilDiv(gemm.m, tile.m),
                  .tiles_n = CeilDiv(gemm.n, tile.n),
                  .steps = CeilDiv(CeilDiv(gemm.k, tile.k), tile.slices)};
  const int64_t slice = sum.steps * tile.k;
  const auto groups = static_cast<double>(gemm.groups);
  const auto scaled = [groups](OperandSectors one) {
    return OperandSectors{groups * one.warp, groups * one.step, groups * one.tile};
  };
  sum.a = scaled(ModelOperand(gemm.a, tile.m, tile.k, slice, sector));
  sum.b = scaled(ModelOperand(gemm.b, tile.n, tile.k, slice, sector));
  const auto warp = WarpBlockOf(gemm.c, tile.m, tile.n);
  sum.store = groups * SumOfBlocks(gemm.c, warp.rows, warp.columns, sector, 64) *
              static_cast<double>(CeilDiv(gemm.k, slice));
  return sum;
}

void CheckTile(const CtaTile& tile, const CacheShape& caches) {
  for (const int64_t size :
       {tile.m, tile.n, tile.k, tile.slices, caches.sector_bytes, caches.dram_sector_bytes})
    if (size < 1) throw BadInput("a tile's sizes are 1 or more, got {}", size);
}

TrafficBytes BytesOf(const GemmSectors& sectors, int64_t sector) {
  const auto g = static_cast<double>(sector);
  const double a_times = g * static_cast<double>(sectors.tiles_n);
  const double b_times = g * static_cast<double>(sectors.tiles_m);
  return {.l1_loads = a_times * sectors.a.warp + b_times * sectors.b.warp,
          .l2_step_loads = a_times * sectors.a.step + b_times * sectors.b.step,
          .l2_tile_loads = a_times * sectors.a.tile + b_times * sectors.b.tile,
          .stores = g * sectors.store};
}

}  // namespace

double L1Bytes(const TrafficBytes& traffic) { return traffic.l1_loads + traffic.stores; }
double L2StepBytes(const TrafficBytes& traffic) { return traffic.l2_step_loads + traffic.stores; }
double L2TileBytes(const TrafficBytes& traffic) { return traffic.l2_tile_loads + traffic.stores; }

TrafficBytes ModelTraffic(const ConvLayer& layer, const CtaTile& tile, const CacheShape& caches) {
  const auto gemm = GemmOf(layer);
  CheckTile(tile, caches);
  auto bytes = BytesOf(ModelSectors(gemm, tile, caches.sector_bytes), caches.sector_bytes);
  bytes.dram =
      DramOfWaves(gemm, tile, ResultBytes(layer), caches.dram_sector_bytes, caches.l2,
                  [&](const Operand& matrix, const IndexRanges& rows, const IndexRange& columns) {
                    double sum = 0;
                    for (const auto& range : rows)
                      sum += RunSectors(matrix, range, columns, caches.dram_sector_bytes);
                    return sum;
                  });
  return bytes;
}

ExactTraffic EnumerateTraffic(const ConvLayer& layer, const CtaTile& tile, const CacheShape& caches,
                              const EnumerationLimits& limits) {
  const auto gemm = GemmOf(layer);
  CheckTile(tile, caches);
  const auto sectors = EnumerateSectors(gemm, tile, caches.sector_bytes, limits);
  ExactTraffic exact{BytesOf(sectors, caches.sector_bytes), sectors.relative_error95};
  exact.bytes.dram =
      EnumerateDram(gemm, tile, ResultBytes(layer), caches.dram_sector_bytes, caches.l2);
  return exact;
}

}  // namespace dlroof::delta
