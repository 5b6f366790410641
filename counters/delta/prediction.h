// The DeLTA-style prediction of an implicit-GEMM convolution on a GPU: bytes, time and bottleneck,
// from published figures or measured ceilings.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/work.h"
#include "counters/delta/model.h"

namespace dlroof::delta {

// Parameters of a GPU for the DeLTA-style model, from data files with sources
// (counters/delta/gpus).
struct GpuSpec {
  std::string name;     // for the user
  double sms = 0;       // [1] streaming multiprocessors
  double clock_hz = 0;  // [1/s]
  std::map<std::string, double>
      macs_per_clock;                 // [1] multiply-adds per clock and SM, by type ("f32")
  double l1_bytes_per_clock = 0;      // [byte] per SM
  double shared_bytes_per_clock = 0;  // [byte] per SM
  double l2_bytes_per_second = 0;     // [byte/s] of the whole chip
  double dram_bytes_per_second = 0;   // [byte/s] of the whole chip
  double l1_latency_clocks = 0, shared_latency_clocks = 0;
  double l2_latency_clocks = 0, dram_latency_clocks = 0;
  double l2_bytes = 0;                         // [byte] L2 capacity, all partitions together
  double l2_partitions = 1;                    // [1] each caches the loads of its own SMs
  double coalesced_sms = 1;                    // [1] SMs whose equal loads reach L2 as one load
  double shared_bytes_per_sm = 0;              // [byte]
  double registers_per_sm = 0;                 // [1] registers of 4 byte
  double threads_per_sm = 0, ctas_per_sm = 0;  // [1] maximum resident on an SM
  int64_t sector_bytes = 0;                    // [byte] transfer unit of L1 and L2
  int64_t dram_sector_bytes = 0;               // [byte] transfer unit of DRAM
  double launch_seconds = 0;                   // [s] time of a kernel launch
  std::map<std::string, std::string> sources;  // of the figures, by key
};

// Parses a parameter file: "name", and {"value", "source"} for every figure, with at least one key
// "macs_per_clock_<type>". `where` starts every message. Throws BadInput for
// - a missing or unknown figure, or a figure without a source ("l2_partitions" and "coalesced_sms"
//   may be missing: then they are 1),
// - a figure that is not a number from 1e-18 to 1e18, a clock outside 1 MHz to 1 THz,
// - SMs that are not a whole number from 1 to 65536,
// - a sector that is not a power of two from 8 to 1024.
GpuSpec GpuFromJson(const nlohmann::json& json, const std::string& where);

// Returns the JSON of a parameter file that GpuFromJson can read.
nlohmann::json ToJson(const GpuSpec& gpu);

// Returns the embedded files of counters/delta/gpus, sorted by name ("v100").
const std::vector<EmbeddedFile>& BuiltInGpus();

// Returns the GPU with a built-in name, or reads the parameter file with the path `name` (which has
// a '/' or '.'). Throws BadInput if the file is wrong or the name is unknown; the message then
// lists the built-in GPUs.
GpuSpec FindGpu(const std::string& name);

// Returns a type's multiply-adds per clock and SM [1]. Throws BadInput for an unknown type.
double MacsPerClock(const GpuSpec& gpu, const std::string& type);

// Returns the resources that Scaled can multiply: "sm", "mac", "shared" and "l1" (bytes per clock),
// "l2" and "dram" (bytes per second), "l2size", "reg", "smem" (capacity per SM), "clock". Scaling
// the clock or the SMs does not change bandwidths in bytes per second.
const std::vector<std::string_view>& ScalableResources();
// Returns the GPU with one resource multiplied by `factor`. Throws BadInput for an unknown
// resource, a factor outside 1/64 to 64, or less than one SM.
GpuSpec Scaled(GpuSpec gpu, const std::string& resource, double factor);

// Reads the tiling of a GPU matrix product (tile, K-step, cluster, slices) from the kernel's name,
// as cuDNN, cuBLAS and CUTLASS choose it, or from the knobs of cuDNN's engine. Pure.

// The tiling of a kernel. Facts that are not in the text are absent. Sizes are in elements.
struct KernelTiling {
  int64_t m = 0, n = 0;                         // [1] rows and columns of C that one CTA computes
  std::optional<int64_t> k;                     // [1] columns of A and B in a K-step
  std::optional<int64_t> cluster_m, cluster_n;  // [1] CTAs of a cluster along m and n
  std::optional<int> architecture;              // oldest compute capability that runs it, e.g. 70
  bool matrix_units = false;                    // computes on tensor cores
  bool valid_taps_only = false;  // backward data that skips filter taps without an output

  bool operator==(const KernelTiling&) const = default;
};

// Returns the tile of one kernel's name, mangled or not, complete or shortened by "...":
//   sm90_xmma_fprop_implicit_gemm_..._tilesize128x64x32_warpgroupsize1x1x1_...  (cuDNN; m x n x k)
//   sm80_xmma_..._tilesize256x64x8_stage3_warpsize2x2x1_...
//   cutlass3x_sm90_tensorop_s64x128x16gemm_..._128x128x64_2x1x1_...             (tile, cluster)
//   cutlass_80_simt_sgemm_128x32_8x5_nt_align1                                  (m x n, k x stages)
//   nvjet_sm90_hsh_64x8_64x16_4x2_h_bz_TNT                 (m x n, k x stages, cluster)
//   ampere_fp16_..._64x64_ldg8_f2f_stages_64x5_nn, volta_scudnn_128x64_relu_...
// Ignores a number next to "...", which may be cut. Returns nullopt if the name has no m x n from 8
// to 512, both multiples of 8, or if it is the kernel that adds up the slices of K
// (..._execute_split_k_kernel), whose name has the tile of the preceding kernel.
std::optional<KernelTiling> ReadKernelName(std::string_view name);

// Returns the tiling of the first kernel in `text`, a list of names, that has a tile.
std::optional<KernelTiling> FindKernelTiling(std::string_view text);

// Knobs of the engine that cuDNN chose, from the text "engine 65 (tile_size 5, tilek 1, idx_mode 1,
// tile_cga_m 1, tile_cga_n 5), tensor_core, workspace 1802879 B: first of heuristic A".
struct EngineKnobs {
  std::optional<int64_t> tile_size, tilek, idx_mode;  // cuDNN's numbers of its choices
  std::optional<int64_t> split_k;                     // [1] slices of K
  std::optional<int64_t> cluster_m, cluster_n;        // [1] size of a cluster in CTAs
  std::optional<int64_t> workspace_bytes;             // [byte]

  bool operator==(const EngineKnobs&) const = default;
};
// Returns the knobs in the text, or nullopt if the text has no engine with knobs.
std::optional<EngineKnobs> ReadEngine(std::string_view text);

// Returns the tiling of an engine by its knobs only. Knows the values that cuDNN 9.14 showed
// together with a kernel's name: tile_size 1, 4, 5; tilek 0, 1. Returns nullopt for others, and for
// engines without a cluster, which are no implicit GEMMs of Hopper.
std::optional<KernelTiling> TilingOf(const EngineKnobs& knobs);

// Returns into how many slices [1] K is split: the number of tiles of 4-byte partial sums that the
// workspace holds, divided by the tiles of a slice (`tiles_m` x `tiles_n`, each rounded up to whole
// clusters). Returns 1 if no tile fits. Returns nullopt if the workspace is unknown or the division
// leaves a remainder.
std::optional<int64_t> SlicesByWorkspace(const EngineKnobs& knobs, const KernelTiling& tiling,
                                         int64_t tiles_m, int64_t tiles_n);

enum class Bottleneck { kCompute, kShared, kL1, kL2, kDram, kLatency, kLaunch };
std::string_view Key(Bottleneck bottleneck);  // "compute", "shared memory", "L1", ...

// How a kernel's loads reach L2.
enum class LoadPath {
  kThroughL1,  // L1 keeps a CTA's data for its whole K range: TrafficBytes' tile form
  kBulk,       // bulk copies into shared memory (TMA) pass by L1's cache: step form
  kUnknown,    // cp.async, with or without L1: between tile form and step form
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
// Returns the plan for a tile of m x n, whose loads pass through L1. GpuSpec::coalesced_sms CTAs
// along m share their loads of B. Throws BadInput if no CTA fits into an SM.
TilePlan PlanTile(const ConvLayer& layer, const GpuSpec& gpu, int64_t m, int64_t n);

// Returns the plan of a kernel with a known tiling. K-step and slices are `tiling.k` and `slices`
// if known, otherwise as in the plan for a tile of m x n.
// - Kernels for compute capability 9.0 and newer load by bulk copies, run one persistent CTA per
//   SM, and share operands by multicast in their cluster (1 x 1 if unknown).
// - The load path of tensor-core kernels for compute capability 8.x is unknown.
// - All others load through L1.
// Throws BadInput if no CTA fits into an SM.
TilePlan PlanTile(const ConvLayer& layer, const GpuSpec& gpu, const KernelTiling& tiling,
                  std::optional<int64_t> slices);

// Returns the GPU's caches for the model. L2 merges equal loads of CTAs that run in step. V100
// counters of launches whose rows of CTAs do not fill the chip show 1.07 to 1.62 such CTAs per SM,
// however many are resident. The model uses 1.35.
CacheShape CachesOf(const GpuSpec& gpu);
// Returns the GPU's caches for a plan. A kernel with bulk copies has one CTA per SM and takes its
// tiles in order; its waves have as many CTAs as complete clusters fit on the chip.
CacheShape CachesOf(const GpuSpec& gpu, const TilePlan& plan);

struct ConvTime {
  double seconds = 0;              // [s] of the kernel without its launch
  double lower_bound_seconds = 0;  // [s] time of the multiply-adds of padded tiles, busiest SM
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
  // cuDNN's engine with its knobs, names of kernels, or both, e.g. "engine 62 (...), workspace 131
  // B, sm90_xmma_...". May be empty. The tile in a kernel's name is preferred to that of the knobs.
  std::string kernel;
  std::optional<CtaTile> tile;  // m and n; overrides the kernel
  // For calls that ran: PredictConv throws BadInput if it would choose the tile by rule, or for
  // strided backward data if it is unknown which filter taps the (Hopper) kernel loads.
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
// (l1tex__t_bytes), without shared memory; they are absent for bulk copies. L2 bytes have the form
// that fits the plan's loads (LoadPath); they are absent if the path of loads is unknown.
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
