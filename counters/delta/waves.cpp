#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "counters/delta/model.h"

namespace dlroof::delta {
namespace {

// A tiles of the CTAs [begin, end), ascending and disjoint.
IndexRanges RowTiles(int64_t begin, int64_t end, int64_t tiles_m) {
  if (end - begin >= tiles_m) return {{0, tiles_m}};
  const int64_t from = begin % tiles_m, to = (end - 1) % tiles_m + 1;
  if (from < to) return {{from, to}};
  return {{0, to}, {from, tiles_m}};
}

IndexRanges ColumnTiles(int64_t begin, int64_t end, int64_t tiles_m) {
  return {{begin / tiles_m, (end - 1) / tiles_m + 1}};
}

// Remembers answers: a range that begins at the same place of an image touches as much as another.
class Remembered {
 public:
  Remembered(const Operand& matrix, int64_t tile, IndexRange columns, int64_t sector,
             const RangeSectors& touched)
      : matrix_(matrix), tile_(tile), columns_(columns), sector_(sector), touched_(touched) {}

  double operator()(const IndexRanges& tiles) {
    IndexRanges rows;
    for (const auto& [begin, end] : tiles)
      rows.emplace_back(begin * tile_, std::min(end * tile_, Size(matrix_.rows)));
    const auto [found, added] = answers_.try_emplace(Key(rows), 0.0);
    if (added) found->second = touched_(matrix_, rows, columns_);
    return found->second;
  }

 private:
  IndexRanges Key(IndexRanges rows) const {
    const auto period = PeriodOf(matrix_.rows);
    if (!period || rows.size() != 1) return rows;
    auto& [begin, end] = rows[0];
    const int64_t repeats = sector_ / std::gcd(sector_, period->bytes) * period->indices;
    end -= begin - begin % repeats;
    begin %= repeats;
    return rows;
  }

  const Operand& matrix_;
  int64_t tile_;
  IndexRange columns_;
  int64_t sector_;
  const RangeSectors& touched_;
  std::map<IndexRanges, double> answers_;
};

// [sector] that the CTAs [begin, end) touch and those from `kept` on before them did not.
template <class Touched>
double Reads(const Touched& touched, int64_t kept, int64_t begin, int64_t end) {
  return touched(kept, end) - (kept == begin ? 0 : touched(kept, begin));
}

}  // namespace

WaveSectors WalkWaves(const WaveGrid& grid, const TileSectors& a, const TileSectors& b) {
  WaveSectors sum;
  const int64_t ctas = grid.tiles_m * grid.tiles_n;
  const auto rows = [&](int64_t begin, int64_t end) {
    return a(RowTiles(begin, end, grid.tiles_m));
  };
  const auto columns = [&](int64_t begin, int64_t end) {
    return b(ColumnTiles(begin, end, grid.tiles_m));
  };
  int64_t kept = 0;  // the first CTA of the earlier waves that are still in the cache
  for (int64_t begin = 0; begin < ctas; begin += grid.ctas_per_wave) {
    const int64_t end = std::min(begin + grid.ctas_per_wave, ctas);
    while (kept < begin && rows(kept, begin) + columns(kept, begin) > grid.cache_sectors)
      kept += grid.ctas_per_wave;
    kept = std::min(kept, begin);
    sum.a += Reads(rows, kept, begin, end);
    const int64_t before = std::max<int64_t>(0, begin - grid.ctas_per_wave);
    const bool stays = columns(before, end) <= grid.cache_sectors / 2;
    sum.b += Reads(columns, stays ? std::min(kept, before) : kept, begin, end);
    ++sum.waves;
  }
  return sum;
}

double Total(const DramBytes& bytes) { return bytes.a + bytes.b + bytes.c; }

DramBytes DramOfWaves(const ConvGemm& gemm, const CtaTile& tile, int64_t result_bytes,
                      int64_t sector, const L2Cache& cache, const RangeSectors& touched) {
  const int64_t slice = CeilDiv(CeilDiv(gemm.k, tile.k), tile.slices) * tile.k;
  const int64_t slices = CeilDiv(gemm.k, slice);
  const auto bytes_per_sector = static_cast<double>(sector);
  const WaveGrid grid{CeilDiv(gemm.m, tile.m), CeilDiv(gemm.n, tile.n),
                      std::max<int64_t>(1, std::llround(cache.ctas_per_wave)),
                      cache.bytes / bytes_per_sector};
  DramBytes sum;
  const auto add = [&](IndexRange columns, double times) {
    Remembered a(gemm.a, tile.m, columns, sector, touched);
    Remembered b(gemm.b, tile.n, columns, sector, touched);
    const auto waves = WalkWaves(grid, std::ref(a), std::ref(b));
    sum.a += times * waves.a * bytes_per_sector;
    sum.b += times * waves.b * bytes_per_sector;
  };
  const auto groups = static_cast<double>(gemm.groups);
  if (slices > 1) add({0, slice}, groups * static_cast<double>(slices - 1));
  add({(slices - 1) * slice, gemm.k}, groups);
  constexpr double kPartialSumBytes = 4;
  const double stored = slices > 1 ? kPartialSumBytes * static_cast<double>(slices)
                                   : static_cast<double>(result_bytes);
  sum.c = groups * static_cast<double>(gemm.m) * static_cast<double>(gemm.n) * stored;
  return sum;
}

DramBytes EnumerateDram(const ConvGemm& gemm, const CtaTile& tile, int64_t result_bytes,
                        int64_t sector, const L2Cache& cache) {
  return DramOfWaves(
      gemm, tile, result_bytes, sector, cache,
      [sector](const Operand& matrix, const IndexRanges& rows, const IndexRange& columns) {
        return static_cast<double>(TouchedSectors(matrix, rows, {columns}, sector));
      });
}

}  // namespace dlroof::delta
