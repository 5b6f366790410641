// The exact memory traffic of an implicit-GEMM convolution. Enumerates the 32-byte sectors that
// each warp, K-step, CTA tile and wave of CTAs touches. The reference for the fast model (model.h);
// uses neither hardware nor fitted numbers.
//
// Tiles and K-steps whose addresses differ only by a multiple of the sector size touch equally many
// sectors, so they are counted once. ResNet-152's layers at batch 256 then take seconds. If a
// layer's different tiles have more elements than `most_elements`, a sample of the tiles is counted
// and the result includes the sampling error.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "counters/delta/gemm.h"

namespace dlroof::delta {

// Work of one CTA: m x n elements of the output, and k columns of A and B per K-step. With split K,
// `slices` CTAs share a tile, each with its part of K.
struct CtaTile {
  int64_t m = 128, n = 128, k = 8, slices = 1;
  // [1] Neighbouring CTAs whose equal loads reach L2 once: B of CTAs along m, A of CTAs along n. A
  // cluster's multicast does this.
  int64_t cluster_m = 1, cluster_n = 1;
  // [1] Share of B's filter taps that a CTA loads: below 1 for strided backward data whose kernel
  // computes pixels with the same valid taps together.
  double taps = 1;
};

// Half-open ranges of indices, ascending and disjoint.
using IndexRange = std::pair<int64_t, int64_t>;
using IndexRanges = std::vector<IndexRange>;

// [1] Returns the exact number of different sectors of `sector` [byte] that the block rows x
// columns touches. `base` [byte] is the address of the matrix.
int64_t TouchedSectors(const Operand& matrix, const IndexRanges& rows, const IndexRanges& columns,
                       int64_t sector, int64_t base = 0);

// Sectors of one operand, summed over all tiles and groups as if only one CTA loaded each tile.
struct OperandSectors {
  double warp = 0;  // [sector] summed over warp loads (32 lanes, an element each)
  double step = 0;  // [sector] different within a K-step, summed over steps and tiles
  double tile = 0;  // [sector] different within a tile's K range, summed over tiles

  void Add(const OperandSectors& other, double times) {
    warp += times * other.warp;
    step += times * other.step;
    tile += times * other.tile;
  }
};

struct GemmSectors {
  OperandSectors a, b;
  double store = 0;                             // [sector] of C stored by warps, once per slice
  int64_t tiles_m = 0, tiles_n = 0, steps = 0;  // [1] `steps` of one slice
  double relative_error95 = 0;                  // [1] half of the 95 % interval; 0 if exact
};

// Counts the sectors of a GEMM with the given tile. `sector` [byte] is the sector size. Throws
// BadInput if the tile or the sector is not positive. If an operand's different tiles have more
// than `most_elements` elements [1], a sample of them is counted.
GemmSectors EnumerateSectors(const ConvGemm& gemm, const CtaTile& tile, int64_t sector,
                             double most_elements = 3e8);

}  // namespace dlroof::delta
