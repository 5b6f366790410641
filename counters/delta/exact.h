// The memory traffic of an implicit-GEMM convolution by exact enumeration: which 32-byte sectors
// each warp, K-step, CTA tile and wave of CTAs touches. The reference that the fast model
// (model.h) is judged by; no hardware, no fitted number.
//
// Repetitions are counted once: tiles and K-steps whose addresses are translates of each other by
// whole sectors touch equally many. This makes ResNet-152's layers at batch 256 a matter of
// seconds without sampling; where a layer has more different tiles than `most_elements` allows,
// tiles are sampled and the error is stated.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "counters/delta/gemm.h"

namespace dlroof::delta {

// Work of one CTA: m x n of the output, k columns of A and B per step. With `slices` (split
// K) so many CTAs share a tile, each with its part of K.
struct CtaTile {
  int64_t m = 128, n = 128, k = 8, slices = 1;
};

// Half-open index ranges, ascending, disjoint.
using IndexRange = std::pair<int64_t, int64_t>;
using IndexRanges = std::vector<IndexRange>;

// [1] different sectors of `sector` [byte] that the block rows x columns touches; `base` [byte] is
// the address of the matrix. Exact.
int64_t TouchedSectors(const Operand& matrix, const IndexRanges& rows, const IndexRanges& columns,
                       int64_t sector, int64_t base = 0);

// Sectors of one operand, all tiles and groups, each loaded once (not yet once per CTA on the other
// axis).
struct OperandSectors {
  double warp = 0;  // [sector] summed over the loads of warps: 32 lanes, an element each
  double step = 0;  // [sector] different ones within a tile's K-step, summed over steps and tiles
  double tile = 0;  // [sector] different ones within a tile's K range, summed over tiles
};

struct GemmSectors {
  OperandSectors a, b;
  double store = 0;                             // [sector] of C by warps, once per slice
  int64_t tiles_m = 0, tiles_n = 0, steps = 0;  // [1] steps: of one slice
  double relative_error95 = 0;  // [1] half width of the 95 % interval of the sampled sums; 0: exact
};

struct EnumerationLimits {
  double most_elements = 3e8;  // [1] that are visited per operand; tiles are sampled beyond
  unsigned seed = 1;
};

// Throws BadInput for a tile or sector that is not positive, or what GemmOf refuses.
GemmSectors EnumerateSectors(const ConvGemm& gemm, const CtaTile& tile, int64_t sector,
                             const EnumerationLimits& limits = {});

}  // namespace dlroof::delta
