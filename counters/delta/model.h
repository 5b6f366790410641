// The fast DeLTA-style model of a convolution's traffic at L1, L2 and DRAM. It computes with the
// geometry of tiles instead of visiting elements, so a large layer takes milliseconds. Its
// equations are not DeLTA's (Lym et al., ISPASS 2019) but derived from first principles, and
// validated with exact counts (tests/counters/delta) and published V100 counters.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "counters/base/work.h"

namespace dlroof::delta {

// Cross-correlation of n images (c x h x w) with k filters (c/groups x r x s), sizes in elements.
// Dimensions: source n c h w; weights k c/groups r s; destination n k P Q.
struct ConvShape {
  int64_t n = 1, c = 1, h = 1, w = 1, k = 1, r = 1, s = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  int64_t dilation_h = 1, dilation_w = 1;  // 1 = dense
  int64_t groups = 1;

  bool operator==(const ConvShape&) const = default;
};
int64_t OutputRows(const ConvShape& shape);     // P
int64_t OutputColumns(const ConvShape& shape);  // Q
// Returns the useful multiply-adds [1], which are equal in every direction: those with taps inside
// the image (work.h). An implicit-GEMM kernel also multiplies padding.
int64_t MultiplyAdds(const ConvShape& shape);

// Integer division rounded down (Floor) or up (Ceil), for any `a` and for b > 0.
constexpr int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0); }
constexpr int64_t CeilDiv(int64_t a, int64_t b) { return -FloorDiv(-a, b); }

enum class TensorLayout { kNchw, kNhwc };  // the weights are KCRS or KRSC

struct ConvLayer {
  ConvShape shape;
  ProductDirection direction = ProductDirection::kForward;
  TensorLayout layout = TensorLayout::kNchw;
  int64_t element_bytes = 4;                 // [byte] 1 to 8, of the tensors that the GEMM reads
  std::optional<int64_t> result_bytes = {};  // [byte] 1 to 8, of the written tensor if different
};
// Returns the size [byte] of a written element.
int64_t ResultBytes(const ConvLayer& layer);

// One digit of a matrix index in mixed radix, with `count` values. Each increment of the digit adds
// (dy, dx) to the position in the image plane and `bytes` to the address.
struct Digit {
  int64_t count = 1, dy = 0, dx = 0, bytes = 0;
};

// Rows or columns of a matrix: index = (d0 * count1 + d1) * count2 + d2 for the digits' values d.
struct Axis {
  std::array<Digit, 3> digits;
  int64_t y = 0, x = 0;  // position of index 0
};
int64_t Size(const Axis& axis);

// The addresses of an axis repeat after `indices` indices with an offset of `bytes` [byte].
struct Period {
  int64_t indices = 1, bytes = 0;
};
std::optional<Period> PeriodOf(const Axis& axis);  // nullopt if they do not repeat

// A matrix: element (i, j) has the image position (y, x) = rows(i) + columns(j). The element is
// padding if y or x is negative, not a multiple of its step, or y / step_h or x / step_w is not
// below its limit.
struct Operand {
  Axis rows, columns;
  int64_t step_h = 1, step_w = 1;           // divisors of y and x
  int64_t limit_h = 1, limit_w = 1;         // exclusive limits of y and x after the division
  int64_t line_bytes = 0, pixel_bytes = 0;  // [byte] address offset per y and per x
  int64_t group_bytes = 0;                  // [byte] between the matrices of two groups
  // Neighbouring lanes of a warp read neighbouring columns of one row; false: neighbouring rows.
  bool lanes_along_columns = false;
  bool gathered = false;         // the position of an element is a pixel plus a filter tap
  bool taps_along_rows = false;  // if `gathered`: rows are taps, columns are pixels
};

// C (m x n) = A (m x k) * B (n x k) transposed, `groups` times. The mappings are CUTLASS's, for a
// layer of N images, C channels of H x W, K filters of R x S, P x Q outputs and g groups:
//   forward           m = N P Q   n = K/g       k = C/g R S   A input (gathered)  B weights
//   backward data     m = N H W   n = C/g       k = K/g R S   A dOutput (gathered) B weights
//   backward weights  m = K/g     n = C/g R S   k = N P Q     A dOutput   B input (gathered)
// Of an axis of channels (or filters) and taps the fastest digit (struct Digit) is the channel in
// NHWC, the tap in NCHW. Strided backward
// data visits all R S taps; taps without an output are predicated off like padding.
struct ConvGemm {
  int64_t m = 1, n = 1, k = 1, groups = 1;
  Operand a, b;
  Operand c;  // rows m, columns n
};
// Returns the GEMM of a layer. Throws BadInput for sizes that are not positive, groups that do not
// divide the channels, a filter larger than the padded image, or element sizes outside 1 to 8.
ConvGemm GemmOf(const ConvLayer& layer);

// Work of one CTA: m x n elements of the output, and k columns of A and B per K-step. With split K,
// `slices` CTAs share a tile, each with its part of K.
struct CtaTile {
  int64_t m = 128, n = 128, k = 8, slices = 1;
  // [1] Neighbouring CTAs whose equal loads reach L2 once (by a cluster's multicast): CTAs along m
  // load the same B, CTAs along n the same A.
  int64_t cluster_m = 1, cluster_n = 1;
  // [1] Share of B's filter taps that a CTA loads: below 1 if a kernel for strided backward data
  // gives each CTA pixels with the same valid taps.
  double taps = 1;
};

// Half-open ranges of indices, ascending and disjoint.
using IndexRange = std::pair<int64_t, int64_t>;
using IndexRanges = std::vector<IndexRange>;

// --- DRAM traffic of a GEMM. Its CTAs run in waves, and a wave finds data of the waves just before
// it in L2. Pure arithmetic on tile indices: the caller provides the sectors that tiles touch. ---

struct WaveGrid {
  int64_t tiles_m = 1, tiles_n = 1;  // the CTA of tile (i, j) has id j * tiles_m + i
  int64_t ctas_per_wave = 1;
  double cache_sectors = 0;  // [sector] capacity of L2, all partitions together
  double partitions = 1;     // [1] parts of L2 with copies of their own
};

// Returns the expected number of copies [1] of a datum in L2 if `readers` CTAs in random partitions
// load it: one in the partition of its memory, and one in each other partition with a reader. E.g.
// 1.5 for two partitions and one reader.
double CopiesInL2(double partitions, double readers);

struct WaveSectors {
  double a = 0, b = 0;  // [sector] read from DRAM, summed over waves
};

// Returns how many sectors [sector] the tiles with these indices touch over all of K.
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

// The model treats groups and slices of K as separate GEMMs with their own waves. If there are
// several slices, each writes C as 4-byte partial sums; the kernel that adds these is not counted.
struct DramBytes {
  double a = 0, b = 0, c = 0;  // [byte] A and B read, C (or partial sums) written
};
double Total(const DramBytes& bytes);

// Traffic of one call [byte].
//
// - L1: All loads and stores of warps (32 lanes, an element each) in complete sectors. Each column
//   of CTA tiles loads A once, each row loads B once. Assumes that loads of different warps are not
//   merged, as l1tex__t_bytes counts.
// - L2, step form: Misses if L1 reuses data only within one K-step of a CTA. Stores as in L1.
// - L2, tile form: Misses if L1 also reuses data between the K-steps of a CTA, so that no data of
//   its K range is loaded twice. V100 counters agree with this form.
// - L2, both forms: CTAs of a cluster load common data once (CtaTile::cluster_m, cluster_n).
// - Stores: C once. With several slices of K also 4-byte partial sums, written and read again by
//   the kernel that adds them up.
// - DRAM: A and B per wave of CTAs after reuse in L2 (WalkWaves), C or its partial sums once.
struct TrafficBytes {
  double l1_loads = 0, l2_step_loads = 0, l2_tile_loads = 0;
  double stores = 0;
  DramBytes dram;
};
double L1Bytes(const TrafficBytes& traffic);
double L2StepBytes(const TrafficBytes& traffic);
double L2TileBytes(const TrafficBytes& traffic);

struct CacheShape {
  int64_t sector_bytes = 32;       // [byte] transfer unit of L1 and L2
  int64_t dram_sector_bytes = 32;  // [byte] transfer unit of DRAM
  L2Cache l2;
};

// Returns the traffic by the fast model: RunSectors gives the sectors of a block, averaged over at
// most 64 evenly spread blocks of the matrix. Throws BadInput like GemmOf, and for tile and sector
// sizes below 1.
TrafficBytes ModelTraffic(const ConvLayer& layer, const CtaTile& tile, const CacheShape& caches);

// Returns the expected number of sectors [sector] that the block rows x columns touches.
//
// Gathered matrices: each input line that a pixel range and a range of filter taps reach is one run
// from its first to its last column, or two runs if the range begins and ends in the middle of a
// line. Adjacent runs can share a sector. Assumes that a run touches all its sectors unless the
// stride is wider than a sector, that all complete channels of the block touch equally many sectors
// (contiguous ones if a complete plane is touched), and that the taps of a dilated filter leave no
// gaps (NCHW).
//
// Other matrices are treated as nested strides. In ascending order, a stride within the current run
// lengthens the run, and a larger stride multiplies the number of runs. A run of B bytes that
// begins at multiples of a bytes touches (B + g - a) / g sectors of g bytes. Assumes an average
// position of ranges that cross an image.
double RunSectors(const Operand& matrix, IndexRange rows, IndexRange columns, int64_t sector);

}  // namespace dlroof::delta
