// The fast DeLTA-style model of a convolution's traffic at L1, L2 and DRAM: geometry in place of
// elements. Its time grows with the waves of CTAs; a large layer takes milliseconds. Derived from
// first principles and judged by the exact count (delta_exact.h) and by published V100 counters;
// DeLTA's own equations (Lym et al., ISPASS 2019) were not at hand.
#pragma once

#include <cstdint>

#include "counters/delta/exact.h"
#include "counters/delta/gemm.h"
#include "counters/delta/waves.h"

namespace dlroof {

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
//   dram     A and B per wave of CTAs as L2 lets them through (delta_waves.h), C once.
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

}  // namespace dlroof
