// The DeLTA-style time model: how long an implicit-GEMM convolution takes on a GPU, and what bounds
// it. Derived; parameters are public figures (gpu_spec.h) or measured ceilings.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "counters/delta/gemm.h"
#include "counters/delta/gpu_spec.h"
#include "counters/delta/model.h"

namespace dlroof::delta {

enum class Bottleneck { kCompute, kShared, kL1, kL2, kDram, kLatency, kLaunch };
std::string_view Key(Bottleneck bottleneck);  // "compute", "shared memory", "L1", ...

// A tile and what it takes of an SM.
struct TilePlan {
  CtaTile tile;
  double ctas_per_sm = 1;  // [1] resident at once, by registers, shared memory and threads
};

// The tile by rule: 128 rows; of 32, 64 and 128 columns the widest that pads the number of columns
// to at most 1/16 more than 32 does (V100 runs 728 columns in tiles of 64 and 128); K-steps of 32
// byte (128x32: of 16 byte), as V100's counters say. The weight gradient splits K until its CTAs
// fill the SMs once, not below 64 steps.
TilePlan PlanTile(const ConvLayer& layer, const GpuSpec& gpu);
// The same with this tile. Throws BadInput when not one CTA fits an SM.
TilePlan PlanTile(const ConvLayer& layer, const GpuSpec& gpu, int64_t m, int64_t n);

// The tile that a cuDNN or CUTLASS kernel's name states as <m>x<n> ("volta_scudnn_128x64_relu"),
// m and n multiples of 8 from 16 to 512; m = 0 where it states none. A number before a '.' is not
// taken: names that were cut for people end in "...".
CtaTile TileFromKernelName(std::string_view name);

// Returns L2's effect on DRAM traffic: CTAs of one wave share. V100 counters of launches whose rows
// of CTAs do not fill the chip show 1.07 to 1.62 CTAs per SM that share, whatever the number
// resident: CTAs of one row drift apart. Taken: 1.35.
CacheShape CachesOf(const GpuSpec& gpu);

struct ConvTime {
  double seconds = 0;              // [s] of the kernel, launch not included
  double lower_bound_seconds = 0;  // [s] the multiply-adds of its padded tiles on the busiest SM
  Bottleneck bottleneck = Bottleneck::kCompute;
  double waves = 0;                          // [1]
  std::map<Bottleneck, double> step_clocks;  // [clock] of a K-step of a full wave, each resource
};

// Waves of A CTAs per SM, each a prologue, its K-steps and an epilogue; a K-step takes as long as
// the resource that has most to do in it: multiply-adds, shared memory, L1, L2, DRAM, or the load
// latency that the CTAs of an SM cannot hide. The bottleneck is what most of the kernel's time goes
// to: prologues count as latency, epilogues as DRAM. `type` names the multiply-add rate. Throws
// BadInput for a type that the GPU has not.
ConvTime ModelTime(const ConvLayer& layer, const TilePlan& plan, const TrafficBytes& traffic,
                   const GpuSpec& gpu, const std::string& type);

}  // namespace dlroof::delta
