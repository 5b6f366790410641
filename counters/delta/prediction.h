// The DeLTA-style prediction of an implicit-GEMM convolution on a GPU: bytes, time and bottleneck,
// from public figures (gpu_spec.h) or measured ceilings, and a study of the fast model's error
// against the exact count over random layers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/error.h"
#include "counters/delta/gemm.h"
#include "counters/delta/gpu_spec.h"
#include "counters/delta/model.h"
#include "counters/work.h"

namespace dlroof::delta {

enum class Bottleneck { kCompute, kShared, kL1, kL2, kDram, kLatency, kLaunch };
std::string_view Key(Bottleneck bottleneck);  // "compute", "shared memory", "L1", ...

struct TilePlan {
  CtaTile tile;
  double ctas_per_sm = 1;  // [1] resident CTAs, limited by registers, shared memory and threads
};

// Chooses a tile by rule: 128 rows; the widest of 32, 64 and 128 columns that pads the columns to
// at most 1/16 more than 32 does (V100 runs 728 columns in tiles of 64 and 128); K-steps of 32 byte
// (16 byte for 128x32), as V100's counters show. The weight gradient splits K until its CTAs fill
// the SMs once, but into at least 64 steps each.
TilePlan PlanTile(const ConvLayer& layer, const GpuSpec& gpu);
// The same for a tile of m x n. Throws BadInput if no CTA fits into an SM.
TilePlan PlanTile(const ConvLayer& layer, const GpuSpec& gpu, int64_t m, int64_t n);

// Returns the tile <m>x<n> in the name of a cuDNN or CUTLASS kernel ("volta_scudnn_128x64_relu"),
// with m and n multiples of 8 from 16 to 512, if the name has one. Ignores a number before a '.',
// as shortened names end in "...".
std::optional<CtaTile> TileFromKernelName(std::string_view name);

// Returns the GPU's caches for the model. CTAs of one wave share loads: V100 counters of launches
// whose rows of CTAs do not fill the chip show 1.07 to 1.62 sharing CTAs per SM, regardless of the
// number of resident CTAs, because the CTAs of a row drift apart. The model uses 1.35.
CacheShape CachesOf(const GpuSpec& gpu);

struct ConvTime {
  double seconds = 0;              // [s] of the kernel, launch not included
  double lower_bound_seconds = 0;  // [s] of the padded tiles' multiply-adds on the busiest SM
  Bottleneck bottleneck = Bottleneck::kCompute;
  double waves = 0;                          // [1]
  std::map<Bottleneck, double> step_clocks;  // [clock] of a full wave's K-step, by resource
};

// Models waves of CTAs, each with a prologue, its K-steps and an epilogue. A K-step takes as long
// as its slowest resource: multiply-adds, shared memory, L1, L2, DRAM, or the load latency that the
// CTAs of an SM cannot hide. The bottleneck is the resource with most of the kernel's time, where
// prologues count as latency and epilogues as DRAM. `type` selects the multiply-add rate. Throws
// BadInput for a type that the GPU lacks.
ConvTime ModelTime(const ConvLayer& layer, const TilePlan& plan, const TrafficBytes& traffic,
                   const GpuSpec& gpu, const std::string& type);

struct ConvQuestion {
  ConvLayer layer;  // `type` replaces its element_bytes and result_bytes
  // The multiply-adds: "f32", "tf32", "f16", "bf16", "int8", "fp8", or an integer source and
  // weights with any destination, "s8s8s8" or "u8s8f32".
  std::string type = "f32";
  std::string kernel;           // may be empty; the kernel's name, which may state the tile
  std::optional<CtaTile> tile;  // m and n, with precedence over the kernel's name
  bool exact = false;           // enumerates the bytes instead of using the fast model
};

struct ConvPrediction {
  TilePlan plan;
  std::string tile_from;  // "rule", "kernel name", "request"
  TrafficBytes traffic;
  double relative_error95 = 0;  // [1] of sampled enumeration, otherwise 0
  ConvTime time;
};

// [byte] Size of an element that a type reads. Throws BadInput for an unknown type.
int64_t ElementBytesOf(const std::string& type);

// Throws BadInput as GemmOf, PlanTile and MacsPerClock do, and for a kernel whose name contains
// "winograd" or "fft", because it is not an implicit GEMM.
ConvPrediction PredictConv(const ConvQuestion& question, const GpuSpec& gpu);

// Returns why PredictConv would throw BadInput, without counting bytes.
std::optional<Reason> RefusalReason(const ConvQuestion& question, const GpuSpec& gpu);

// Returns the prediction as the work of one call, with Provenance::kModelled: useful FLOPs on the
// GPU's pipe for the type, bytes at L1, L2 (tile form) and DRAM, one launch.
Work ModelledWork(const ConvQuestion& question, const ConvPrediction& prediction,
                  const GpuSpec& gpu);

// "DeLTA-style model of v100: tile 128x64x8 (rule), not measured"
std::string HowModelled(const ConvPrediction& prediction, const GpuSpec& gpu);

// Returns "fp32.vector" for f32. Returns "fp16.matrix" for f16 if the GPU's f16 is at least four
// times as fast as its f32, otherwise "fp16.vector". Throws BadInput as ElementBytesOf does.
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

// Compares the fast model with the exact count on `count` (at least 1) random layers of all
// directions and layouts, groups, dilations, strides, paddings, element sizes 1 to 8, tiles and
// caches. The same seed gives the same layers on every platform.
std::vector<LevelStudy> StudyRandomLayers(int count, unsigned seed);

}  // namespace dlroof::delta
