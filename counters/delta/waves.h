// DRAM traffic of a GEMM's CTAs: they run in waves, and a wave finds in L2 what the waves just
// before it left there. Pure arithmetic on tile indices; how many sectors some tiles touch is the
// caller's answer, exact or by a formula.
#pragma once

#include <cstdint>
#include <functional>

#include "counters/delta/exact.h"
#include "counters/delta/gemm.h"

namespace dlroof {

struct WaveGrid {
  int64_t tiles_m = 1, tiles_n = 1;  // CTA id = in * tiles_m + im
  int64_t ctas_per_wave = 1;
  double cache_sectors = 0;  // [sector] that L2 keeps
};

struct WaveSectors {
  double a = 0, b = 0;  // [sector] read from DRAM, summed over waves
  int64_t waves = 0;
};

// Sectors that the tiles with these indices touch, with all of K.
using TileSectors = std::function<double(const IndexRanges& tiles)>;

// Wave w has the next ctas_per_wave ids. It reads what it touches and the newest earlier waves did
// not: as many of them as fit into the cache together. B's tiles of the wave just before stay in
// any case, where they take half of the cache at most: every CTA uses them again and again (V100's
// counters show filters of 1.3 MB read once beside 51 MB of input).
WaveSectors WalkWaves(const WaveGrid& grid, const TileSectors& a, const TileSectors& b);

// L2's effect on DRAM traffic.
struct L2Cache {
  double bytes = 0;          // [byte] that stay
  double ctas_per_wave = 1;  // [1] CTAs of the chip that share what they load at the same time
};

struct DramBytes {
  double a = 0, b = 0, c = 0;  // [byte] A and B read, C written (partial sums with slices)
};
double Total(const DramBytes& bytes);

// Exact sectors per wave. Groups and slices of K are separate products whose waves begin with them;
// groups are taken to be aligned alike, and all slices but the last to be alike. With slices C is
// written once per slice as 4-byte partial sums (a kernel that adds them up is not counted);
// `result_bytes` [byte] is an element of C.
DramBytes EnumerateDram(const ConvGemm& gemm, const CtaTile& tile, int64_t result_bytes,
                        int64_t sector, const L2Cache& cache);

// The part that the exact and the fast count share: `touched(matrix, rows, columns)` answers for a
// range of rows and one of columns (indices, not tiles).
using RangeSectors = std::function<double(const Operand& matrix, const IndexRanges& rows,
                                          const IndexRange& columns)>;
DramBytes DramOfWaves(const ConvGemm& gemm, const CtaTile& tile, int64_t result_bytes,
                      int64_t sector, const L2Cache& cache, const RangeSectors& touched);

}  // namespace dlroof
