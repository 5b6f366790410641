// The fast DeLTA-style model of a convolution's traffic at L1, L2 and DRAM. It uses the geometry of
// tiles instead of visiting elements, so a large layer takes milliseconds. Derived from first
// principles and validated with the exact count (exact.h) and with published V100 counters, not
// from DeLTA's own equations (Lym et al., ISPASS 2019).
#pragma once

#include <cstdint>
#include <functional>

#include "counters/delta/exact.h"
#include "counters/delta/gemm.h"

namespace dlroof::delta {

// --- DRAM traffic of a GEMM's CTAs. They run in waves, and a wave finds in L2 the data of the
// waves just before it. Pure arithmetic on tile indices; the caller provides the number of sectors
// that some tiles touch, exact or from a formula. ---

struct WaveGrid {
  int64_t tiles_m = 1, tiles_n = 1;  // CTA id = in * tiles_m + im
  int64_t ctas_per_wave = 1;
  double cache_sectors = 0;  // [sector] capacity of L2
};

struct WaveSectors {
  double a = 0, b = 0;  // [sector] read from DRAM, summed over waves
  int64_t waves = 0;
};

// Returns the sectors that the tiles with these indices touch, with all of K.
using TileSectors = std::function<double(const IndexRanges& tiles)>;

// Each wave has the next ctas_per_wave ids. It reads the sectors that the latest waves before it,
// as many as fit into the cache together, did not touch. B's tiles of the previous wave stay in any
// case if they take at most half of the cache, because all CTAs reuse them (V100's counters show
// filters of 1.3 MB read once next to 51 MB of input).
WaveSectors WalkWaves(const WaveGrid& grid, const TileSectors& a, const TileSectors& b);

// L2's effect on DRAM traffic.
struct L2Cache {
  double bytes = 0;          // [byte] capacity
  double ctas_per_wave = 1;  // [1] CTAs on the chip that share concurrent loads
};

struct DramBytes {
  double a = 0, b = 0, c = 0;  // [byte] A and B read, C written (partial sums with slices)
};
double Total(const DramBytes& bytes);

// Counts exact sectors per wave. Groups and slices of K are separate products with waves of their
// own. Assumes that all groups have the same alignment and that all slices but the last are equal.
// With slices each one writes C as 4-byte partial sums; the kernel that adds them up is not
// counted. `result_bytes` [byte] is the size of an element of C.
DramBytes EnumerateDram(const ConvGemm& gemm, const CtaTile& tile, int64_t result_bytes,
                        int64_t sector, const L2Cache& cache);

// The common part of the exact and the fast count. `touched(matrix, rows, columns)` returns the
// sectors of ranges of rows and a range of columns (indices, not tiles).
using RangeSectors = std::function<double(const Operand& matrix, const IndexRanges& rows,
                                          const IndexRange& columns)>;
DramBytes DramOfWaves(const ConvGemm& gemm, const CtaTile& tile, int64_t result_bytes,
                      int64_t sector, const L2Cache& cache, const RangeSectors& touched);

// --- The model ---

// [byte] of one call.
//
//   l1       All loads and stores of warps, 32 lanes with an element each, in complete sectors. A
//   is
//            loaded once per column of CTA tiles, B once per row. Assumes that loads of different
//            warps are not merged, as l1tex__t_bytes counts.
//   l2_step  Misses if L1 has reuse only within one K-step of a CTA. Stores as in L1 (written
//            through).
//   l2_tile  Misses if L1 also has reuse between the K-steps of a CTA, so that no data of its K
//   range
//            is loaded twice. V100 counters support this form.
//   dram     A and B per wave of CTAs after reuse in L2 (WalkWaves), C once.
struct TrafficBytes {
  double l1_loads = 0, l2_step_loads = 0, l2_tile_loads = 0;
  double stores = 0;
  DramBytes dram;
};
double L1Bytes(const TrafficBytes& traffic);
double L2StepBytes(const TrafficBytes& traffic);
double L2TileBytes(const TrafficBytes& traffic);

// Parameters of the cache hierarchy.
struct CacheShape {
  int64_t sector_bytes = 32;       // [byte] transfer unit of L1 and L2
  int64_t dram_sector_bytes = 32;  // [byte] transfer unit of DRAM
  L2Cache l2;
};

// Computes the sectors of a block with RunSectors as the mean over at most 64 evenly spread blocks
// of the matrix. Throws BadInput as GemmOf and EnumerateSectors do.
TrafficBytes ModelTraffic(const ConvLayer& layer, const CtaTile& tile, const CacheShape& caches);

// The same by exact enumeration; `relative_error95` as in GemmSectors.
struct ExactTraffic {
  TrafficBytes bytes;
  double relative_error95 = 0;
};
ExactTraffic EnumerateTraffic(const ConvLayer& layer, const CtaTile& tile, const CacheShape& caches,
                              const EnumerationLimits& limits = {});

// --- A part of the fast model ---

// [sector] Expected number of sectors that the block rows x columns touches.
//
// In a gathered matrix, each input line that a pixel range and a range of taps reach is one run
// from its first to its last column, or two runs if the range begins and ends in the middle of a
// line. Adjacent runs can share a sector. Assumes that a run touches all its sectors unless the
// stride is wider than a sector, that all complete channels of the block are equal and contiguous
// if a complete plane is touched, and that the taps of a dilated filter leave no gaps (NCHW).
//
// Other matrices are boxes of strides. In ascending order, a stride within the current run
// lengthens it and a larger stride multiplies it. A run of B bytes that begins at multiples of a
// bytes touches (B + g - a) / g sectors of g bytes. Assumes an average position of ranges that
// cross an image.
double RunSectors(const Operand& matrix, IndexRange rows, IndexRange columns, int64_t sector);

}  // namespace dlroof::delta
