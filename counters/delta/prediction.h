// The DeLTA-style time model: how long an implicit-GEMM convolution takes on a GPU, and what bounds
// it. Derived; parameters are public figures (gpu_spec.h) or measured ceilings.
//
// The modelled source of a GPU convolution's bytes and time: what to say when no counter answers.
//
// The fast model judged by the exact count, over random layers: how far it can be trusted.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/delta/gemm.h"
#include "counters/delta/gpu_spec.h"
#include "counters/delta/model.h"
#include "counters/work.h"

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

struct ConvQuestion {
  ConvLayer layer;  // its element_bytes and result_bytes follow from `type`
  // Names the multiply-adds: "f32", "tf32", "f16", "bf16", "int8", "fp8", or integer source,
  // weights and any destination, "s8s8s8" or "u8s8f32".
  std::string type = "f32";
  std::string kernel;           // the kernel's name where it is known: its tile is taken
  std::optional<CtaTile> tile;  // m and n; beats the kernel's name
  bool exact = false;           // bytes by enumeration instead of the fast model
};

struct ConvPrediction {
  TilePlan plan;
  std::string tile_from;  // "rule", "kernel name", "request"
  TrafficBytes traffic;
  double relative_error95 = 0;  // [1] of sampled enumeration; 0: none
  ConvTime time;
};

// [byte] of an element that a type reads. Throws BadInput for an unknown type.
int64_t ElementBytesOf(const std::string& type);

// Throws BadInput: what GemmOf, PlanTile and MacsPerClock refuse, and a kernel whose name has
// "winograd" or "fft" in it, which is no implicit GEMM.
ConvPrediction PredictConv(const ConvQuestion& question, const GpuSpec& gpu);

// The sentence with which PredictConv refuses; empty: it predicts. Counts no bytes.
std::string WhyNotPredicted(const ConvQuestion& question, const GpuSpec& gpu);

// The prediction as the work of one call, to be filed under Provenance::kModelled: useful FLOPs on
// the pipe that the GPU has for the type, bytes at L1, L2 (tile form) and DRAM, one launch.
Work ModelledWork(const ConvQuestion& question, const ConvPrediction& prediction,
                  const GpuSpec& gpu);

// "DeLTA-style model of v100: tile 128x64x8 (rule), not measured"
std::string HowModelled(const ConvPrediction& prediction, const GpuSpec& gpu);

// "fp32.vector" for f32; f16 is "fp16.matrix" where the GPU does it four times as fast as f32 or
// more, else "fp16.vector". Throws BadInput for a type that ElementBytesOf refuses.
std::string PipeOf(const std::string& type, const GpuSpec& gpu);

struct LayerError {
  double relative = 0;  // [1] model / exact - 1
  std::string layer;    // shape, direction, layout, element size, tile
};

struct LevelStudy {
  std::string level;               // "L1", "L2 step", "L2 tile", "DRAM"
  double median = 0;               // [1] of the absolute relative errors
  double percentile95 = 0;         // [1]
  std::vector<LayerError> errors;  // of every layer, the worst first
};

// Layers of all directions and layouts, groups, dilation, strides, padding, element sizes 1 to 8,
// tiles and caches, from a generator that is the same everywhere. `count` at least 1.
std::vector<LevelStudy> StudyRandomLayers(int count, unsigned seed);

}  // namespace dlroof::delta
