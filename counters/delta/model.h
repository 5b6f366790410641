// The fast DeLTA-style model of a convolution's traffic at L1, L2 and DRAM. It computes with the
// geometry of tiles instead of visiting elements, so a large layer takes milliseconds. Its
// equations are not DeLTA's (Lym et al., ISPASS 2019) but derived from first principles, and
// validated with exact counts (tests/counters/delta) and published V100 counters.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "counters/delta/gemm.h"

namespace dlroof::delta {

// Work of one CTA: m x n elements of the output, and k columns of A and B per K-step. With split K,
// `slices` CTAs share a tile, each with its part of K.
struct CtaTile {
  int64_t m = 128, n = 128, k = 8, slices = 1;
  // [1] Neighbouring CTAs whose equal loads reach L2 once (by a cluster's multicast): CTAs along m
  // load the same B, CTAs along n the same A.
  int64_t cluster_m = 1, cluster_n = 1;
  // [1] Share of B's filter taps that a CTA loads: below 1 for strided backward data whose kernel
  // computes pixels with the same valid taps together.
  double taps = 1;
};

// Half-open ranges of indices, ascending and disjoint.
using IndexRange = std::pair<int64_t, int64_t>;
using IndexRanges = std::vector<IndexRange>;

// --- DRAM traffic of a GEMM. Its CTAs run in waves, and a wave finds data of the waves just before
// it in L2. Pure arithmetic on tile indices: the caller provides the sectors that tiles touch. ---

struct WaveGrid {
  int64_t tiles_m = 1, tiles_n = 1;  // CTA (im, in) has id in * tiles_m + im
  int64_t ctas_per_wave = 1;
  double cache_sectors = 0;  // [sector] capacity of L2, all partitions together
  double partitions = 1;     // [1] parts of L2 with copies of their own
};

// Returns the expected number of copies [1] of a datum in L2 if `readers` CTAs in random partitions
// load it: one in the partition of its memory, and one in each other partition with a reader. Two
// partitions, one reader: 1.5.
double CopiesInL2(double partitions, double readers);

struct WaveSectors {
  double a = 0, b = 0;  // [sector] read from DRAM, summed over waves
};

// Returns the sectors [sector] that the tiles with these indices touch over all of K.
using TileSectors = std::function<double(const IndexRanges& tiles)>;

// Returns the DRAM reads of all waves. A wave consists of the next ctas_per_wave CTA ids (of a
// persistent kernel: each CTA's next tile). It reads the sectors that are not in L2. L2 contains
// the data of as many previous waves as fit with their copies. It also contains B's tiles of the
// previous wave if they fill at most half of L2, because all CTAs reuse them (V100's counters show
// filters of 1.3 MB read once next to 51 MB of input).
WaveSectors WalkWaves(const WaveGrid& grid, const TileSectors& a, const TileSectors& b);

// The L2 cache, as far as it affects DRAM traffic.
struct L2Cache {
  double bytes = 0;          // [byte] capacity
  double ctas_per_wave = 1;  // [1] CTAs on the chip whose concurrent loads L2 merges
  double partitions = 1;     // [1] parts of L2; each has its own copy of the data its SMs load
};

// Groups and slices of K are separate GEMMs with their own waves. Each of several slices writes C
// as 4-byte partial sums; the kernel that adds them up is not counted.
struct DramBytes {
  double a = 0, b = 0, c = 0;  // [byte] A and B read, C (or partial sums) written
};
double Total(const DramBytes& bytes);

// --- The model ---

// Traffic of one call [byte].
//
// - L1: All loads and stores of warps (32 lanes, an element each) in complete sectors. Each column
//   of CTA tiles loads A once, each row loads B once. Assumes that loads of different warps are not
//   merged, as l1tex__t_bytes counts.
// - L2, step form: Misses if L1 has reuse only within one K-step of a CTA. Stores as in L1.
// - L2, tile form: Misses if L1 also has reuse between the K-steps of a CTA, which loads no data of
//   its K range twice. V100 counters agree with this form.
// - L2, both forms: CTAs of a cluster load common data once (CtaTile::cluster_m, cluster_n).
// - Stores: C once. With several slices of K also 4-byte partial sums, written and read again by
//   the kernel that adds them up.
// - DRAM: A and B per wave of CTAs after reuse in L2 (WalkWaves), C once.
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

// Returns the traffic by the fast model: RunSectors gives the sectors of a block, averaged over at
// most 64 evenly spread blocks of the matrix. Throws BadInput as GemmOf does, and for sizes of a
// tile below 1.
TrafficBytes ModelTraffic(const ConvLayer& layer, const CtaTile& tile, const CacheShape& caches);

// --- A part of the fast model ---

// Returns the expected number of sectors [sector] that the block rows x columns touches.
//
// Gathered matrices: each input line that a pixel range and a range of filter taps reach is one run
// from its first to its last column, or two runs if the range begins and ends in the middle of a
// line. Adjacent runs can share a sector. Assumes that a run touches all its sectors unless the
// stride is wider than a sector, that all complete channels of the block are equal (and contiguous
// if a complete plane is touched), and that the taps of a dilated filter leave no gaps (NCHW).
//
// Other matrices are treated as nested strides. In ascending order, a stride within the current run
// lengthens the run, and a larger stride multiplies the number of runs. A run of B bytes that
// begins at multiples of a bytes touches (B + g - a) / g sectors of g bytes. Assumes an average
// position of ranges that cross an image.
double RunSectors(const Operand& matrix, IndexRange rows, IndexRange columns, int64_t sector);

}  // namespace dlroof::delta
