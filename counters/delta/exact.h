// The memory traffic of an implicit-GEMM convolution by exact enumeration: which 32-byte sectors
// each warp, K-step, CTA tile and wave of CTAs touches. It is the reference for the fast model
// (model.h) and uses neither hardware nor fitted numbers.
//
// Tiles and K-steps whose addresses are translates of each other by a multiple of the sector touch
// equally many sectors and are counted once. ResNet-152's layers at batch 256 take seconds this
// way. If a layer has more different tiles than `most_elements` allows, tiles are sampled and the
// result has the error.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "counters/delta/gemm.h"

namespace dlroof::delta {

// Work of one CTA: m x n of the output, k columns of A and B per step. With split K, `slices` CTAs
// share a tile, each with its part of K.
struct CtaTile {
  int64_t m = 128, n = 128, k = 8, slices = 1;
};

// Half-open index ranges, ascending, disjoint.
using IndexRange = std::pair<int64_t, int64_t>;
using IndexRanges = std::vector<IndexRange>;

// [1] Different sectors of `sector` [byte] that the block rows x columns touches, exactly. `base`
// [byte] is the address of the matrix.
int64_t TouchedSectors(const Operand& matrix, const IndexRanges& rows, const IndexRanges& columns,
                       int64_t sector, int64_t base = 0);

// Sectors of one operand over all tiles and groups, if each tile were loaded by only one CTA.
struct OperandSectors {
  double warp = 0;  // [sector] summed over the loads of warps, 32 lanes with an element each
  double step = 0;  // [sector] different ones within a tile's K-step, summed over steps and tiles
  double tile = 0;  // [sector] different ones within a tile's K range, summed over tiles
};

struct GemmSectors {
  OperandSectors a, b;
  double store = 0;                             // [sector] of C by warps, once per slice
  int64_t tiles_m = 0, tiles_n = 0, steps = 0;  // [1] steps: of one slice
  double relative_error95 =
      0;  // [1] half width of the 95 % interval of sampled sums, or 0 if exact
};

struct EnumerationLimits {
  double most_elements = 3e8;  // [1] visited per operand before tiles are sampled
  unsigned seed = 1;
};

// Throws BadInput for a tile or sector that is not positive.
GemmSectors EnumerateSectors(const ConvGemm& gemm, const CtaTile& tile, int64_t sector,
                             const EnumerationLimits& limits = {});

}  // namespace dlroof::delta
