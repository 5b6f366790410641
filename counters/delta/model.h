// The fast DeLTA-style model of a convolution's traffic at L1, L2 and DRAM: geometry in place of
// elements. Its time grows with the waves of CTAs; a large layer takes milliseconds. Derived from
// first principles and judged by the exact count (exact.h) and by published V100 counters;
// DeLTA's own equations (Lym et al., ISPASS 2019) were not at hand.
#pragma once

#include <cstdint>
#include <functional>

#include "counters/delta/exact.h"
#include "counters/delta/gemm.h"

namespace dlroof::delta {

// --- DRAM traffic of a GEMM's CTAs: they run in waves, and a wave finds in L2 what the waves just
// before it left there. Pure arithmetic on tile indices; how many sectors some tiles touch is the
// caller's answer, exact or by a formula. ---

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

// --- The model ---

// [byte] of one call.
//
//   l1       every load of a warp, 32 lanes with an element each, in whole sectors; stores
//   likewise.
//            A is loaded once per column of CTA tiles, B once per row. Assumed: no two warps'
//            loads are merged, which is what l1tex__t_bytes counts.
//   l2_step  what L1 does not catch within one K-step of a CTA; stores as in L1 (written through).
//   l2_tile  ... when L1 also keeps a CTA's data from one K-step to the next: with two or three
//   steps
//            kept nothing of the CTA's K range is loaded twice. The form that V100 counters
//            support.
//   dram     A and B per wave of CTAs as L2 lets them through (WalkWaves), C once.
struct TrafficBytes {
  double l1_loads = 0, l2_step_loads = 0, l2_tile_loads = 0;
  double stores = 0;
  DramBytes dram;
};
double L1Bytes(const TrafficBytes& traffic);
double L2StepBytes(const TrafficBytes& traffic);
double L2TileBytes(const TrafficBytes& traffic);

// Cache hierarchy as the model needs it.
struct CacheShape {
  int64_t sector_bytes = 32;       // [byte] L1 and L2 move
  int64_t dram_sector_bytes = 32;  // [byte] DRAM moves into L2
  L2Cache l2;
};

// Each block's sectors by RunSectors, in the mean over at most 64 of the places where it can lie,
// spread evenly. Throws BadInput for what GemmOf and EnumerateSectors refuse.
TrafficBytes ModelTraffic(const ConvLayer& layer, const CtaTile& tile, const CacheShape& caches);

// The same by exact enumeration; `relative_error95` as in GemmSectors.
struct ExactTraffic {
  TrafficBytes bytes;
  double relative_error95 = 0;
};
ExactTraffic EnumerateTraffic(const ConvLayer& layer, const CtaTile& tile, const CacheShape& caches,
                              const EnumerationLimits& limits = {});

// --- A part of the fast model ---

// [sector] that rows x columns touches, expected over where the block may lie.
//
// A gathered matrix: each input line that a pixel range and a range of taps reach is one run, from
// its first to its last column, or two where the range begins and ends in the middle of a line;
// runs that meet in a sector share it. Assumed: a run has no untouched sector in it unless the
// stride is wider than a sector; channels that are wholly in the block are alike, and where a whole
// plane is touched they follow each other without a seam; taps of a dilated filter leave no hole
// between the first and the last (NCHW).
//
// Any other matrix: a box of strides. From the smallest stride up, a stride within the run so far
// lengthens it, a larger one multiplies it; a run of B bytes that begins at multiples of a bytes
// touches (B + g - a) / g sectors. Assumed: a range that crosses an image does so in the mean.
double RunSectors(const Operand& matrix, IndexRange rows, IndexRange columns, int64_t sector);

}  // namespace dlroof::delta
