// The DeLTA-style prediction of an implicit-GEMM convolution on a GPU: bytes, time and bottleneck,
// from published figures (gpu_spec.h) or measured ceilings.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "counters/base/error.h"
#include "counters/base/work.h"
#include "counters/delta/gemm.h"
#include "counters/delta/gpu_spec.h"
#include "counters/delta/kernel_name.h"
#include "counters/delta/model.h"

namespace dlroof::delta {

enum class Bottleneck { kCompute, kShared, kL1, kL2, kDram, kLatency, kLaunch };
std::string_view Key(Bottleneck bottleneck);  // "compute", "shared memory", "L1", ...

// How a kernel's loads reach L2.
enum class LoadPath {
  kThroughL1,  // L1 keeps a CTA's data for its whole K range: the tile form
  kBulk,       // bulk copies into shared memory (TMA) pass by L1's cache: the step form
  kUnknown,    // cp.async, with or without L1: between the two forms
};

struct TilePlan {
  CtaTile tile;
  double ctas_per_sm = 1;  // [1] resident CTAs (registers, shared memory, threads)
  LoadPath loads = LoadPath::kThroughL1;
};

// Returns a tile chosen by rules that V100's counters support. It has 128 rows and the widest of
// 32, 64 and 128 columns that pads the matrix to at most 1/16 more columns than 32 does (V100 runs
// 728 columns in tiles of 64 and 128). K-steps have 32 byte (16 byte for 128x32). The weight
// gradient splits K until its CTAs fill the SMs once, but into slices of at least 64 steps.
TilePlan PlanTile(const ConvLayer& layer, const GpuSpec& gpu);
// Returns the plan for a tile of m x n, whose loads pass through L1. Where the GPU merges equal
// loads of neighbouring SMs (GpuSpec::coalesced_sms), as many CTAs along m share B. Throws BadInput
// if no CTA fits into an SM.
TilePlan PlanTile(const ConvLayer& layer, const GpuSpec& gpu, int64_t m, int64_t n);

// Returns the plan of a kernel with a known tiling. K-step, cluster and slices are those of
// `tiling` if known, otherwise by the rules above. `slices` overrides both.
// - Kernels for compute capability 9.0 and newer load by bulk copies, run one persistent CTA per
//   SM, and share operands by multicast in their cluster.
// - The load path of tensor-core kernels for compute capability 8.x is unknown.
// - All others load through L1.
// Throws BadInput if no CTA fits into an SM.
TilePlan PlanTile(const ConvLayer& layer, const GpuSpec& gpu, const KernelTiling& tiling,
                  std::optional<int64_t> slices);

// Returns the GPU's caches for the model. L2 merges concurrent loads of CTAs in one wave: V100
// counters of launches whose rows of CTAs do not fill the chip show merged loads of 1.07 to 1.62
// CTAs per SM, with any number of resident CTAs, as the CTAs of a row drift apart. Uses 1.35.
CacheShape CachesOf(const GpuSpec& gpu);
// Returns the GPU's caches for a plan. A kernel with bulk copies has one CTA per SM and takes its
// tiles in order; its waves have as many CTAs as complete clusters fit on the chip.
CacheShape CachesOf(const GpuSpec& gpu, const TilePlan& plan);

struct ConvTime {
  double seconds = 0;              // [s] of the kernel without its launch
  double lower_bound_seconds = 0;  // [s] multiply-adds of padded tiles on the busiest SM
  Bottleneck bottleneck = Bottleneck::kCompute;
  double waves = 0;                          // [1]
  std::map<Bottleneck, double> step_clocks;  // [clock] of a K-step in a full wave, by resource
};

// Returns the modelled time: waves of CTAs, each with a prologue, its K-steps and an epilogue. A
// K-step takes as long as its slowest resource: multiply-adds, shared memory, L1, L2, DRAM, or the
// load latency that the CTAs of an SM cannot hide. The bottleneck is the resource with most of the
// kernel's time; prologues count as latency and epilogues as DRAM. `type` selects the multiply-add
// rate. Throws BadInput if the GPU lacks the type.
ConvTime ModelTime(const ConvLayer& layer, const TilePlan& plan, const TrafficBytes& traffic,
                   const GpuSpec& gpu, const std::string& type);

struct ConvQuestion {
  ConvLayer layer;  // `type` overrides element_bytes and result_bytes
  // Data type: "f32", "tf32", "f16", "bf16", "int8", "fp8", or an integer source and integer
  // weights with any destination, "s8s8s8" or "u8s8f32".
  std::string type = "f32";
  // cuDNN's engine with its knobs, names of kernels, or both ("engine 62 (...), workspace 131 B,
  // sm90_xmma_..."), which may say the tile; may be empty. A kernel's name precedes the knobs.
  std::string kernel;
  std::optional<CtaTile> tile;  // m and n; overrides the kernel
  // For calls that ran: throw BadInput if the tile would be chosen by rule, or for strided backward
  // data if it is unknown which filter taps the (Hopper) kernel loads.
  bool known_kernel_only = false;
};

struct ConvPrediction {
  TilePlan plan;
  std::string tile_from;  // "rule", "kernel name", "engine", "request"
  TrafficBytes traffic;
  ConvTime time;
};

// Returns the size [byte] of a read element of this type. Throws BadInput for an unknown type.
int64_t ElementBytesOf(const std::string& type);

// Returns the prediction for a layer. Throws BadInput as GemmOf, PlanTile and MacsPerClock do, and
// if the kernel's name contains "winograd" or "fft", as it is no implicit GEMM.
ConvPrediction PredictConv(const ConvQuestion& question, const GpuSpec& gpu);

// Returns why PredictConv would throw BadInput, or nullopt. Does not count bytes.
std::optional<Reason> RefusalReason(const ConvQuestion& question, const GpuSpec& gpu);

// Returns the modelled bytes at L1, L2 and DRAM [byte]. L1 bytes pass L1's tag stage
// (l1tex__t_bytes), so they exclude shared memory and bulk copies. L2 bytes have the form that fits
// the plan's loads; they are absent if the path of loads is unknown.
std::map<Level, double> KnownBytes(const ConvPrediction& prediction);

// Returns the predicted work of one call, with Provenance::kModelled: useful FLOPs on the GPU's
// pipe for the type, KnownBytes, one launch.
Work ModelledWork(const ConvQuestion& question, const ConvPrediction& prediction,
                  const GpuSpec& gpu);

// Returns "DeLTA-style model of v100: tile 128x64x8 (rule), not measured", or of a cluster
// "... tile 128x64x32, cluster 8x1 (kernel name), not measured".
std::string HowModelled(const ConvPrediction& prediction, const GpuSpec& gpu);

// Returns the pipe that executes the type: "fp32.vector" for f32; for f16 "fp16.matrix" if f16 is
// at least four times as fast as f32, otherwise "fp16.vector". Throws BadInput for an unknown type.
std::string PipeOf(const std::string& type, const GpuSpec& gpu);

}  // namespace dlroof::delta
