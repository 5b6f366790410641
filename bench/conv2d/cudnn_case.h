// Conv2D/gpu/cudnn without CUDA, so that names parse in the same way in every build and the rules
// can be tested: a parsed name, a plain description of the graph for cuDNN's backend API (tensors,
// one convolution, fused operations), and the rules on cuDNN's engines (which of them a type may
// use, on which pipe they execute, which is the fastest, how a record names them).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/conv2d/case.h"
#include "bench/library_rules/library_rules.h"
#include "bench/workload/benchmark_name.h"
#include "counters/base/error.h"
#include "counters/work.h"

namespace dlroof::conv2d {

// How to choose among cuDNN's engines.
enum class EngineChoice {
  kHeuristic,  // the first allowed one in cuDNN's own order (heuristic mode A) that finalizes
  kBest,       // the fastest of all that the heuristics propose, by timing each one
  kNumbered    // the first proposal with a specified number
};

struct CudnnConv2dCase {
  // The layout is kNchw or kNhwc, never kAny, because cuDNN does not choose layouts. The type
  // "tf32" is f32 tensors with `fpmath` "tf32-truncated": tensor cores ignore the low bits.
  Conv2dCase conv;
  EngineChoice choice = EngineChoice::kHeuristic;
  int64_t engine = 0;  // cuDNN's global index, only used for kNumbered

  bool operator==(const CudnnConv2dCase&) const = default;
};

// Types: f32 (without tensor cores and narrower inputs), tf32, f16, bf16, int8 and mixes of 8-bit
// integers such as s8s8f32. Options, in this order: bias, relu (fused into fwd), nchw (default:
// NHWC, in which tensor cores read channels), best or engineN (default: the heuristic's choice).
// Throws BadInput with the column in the whole name.
CudnnConv2dCase ReadCudnnConv2dCase(const workload::BenchmarkName& name);

// Unique ids of tensors.
enum TensorId : int64_t {
  kSourceId = 1,       // x, or its gradient
  kWeightsId = 2,      // w, or its gradient
  kDestinationId = 3,  // y, or its gradient
  kBiasId = 4,
  kSumId = 5,    // from the convolution to bias or relu
  kBiasedId = 6  // from bias to relu
};

// A tensor of four dimensions: n c h w (source), k c/groups r s (weights), n k P Q (destination),
// 1 k 1 1 (bias). The strides give its order in memory.
struct TensorSpec {
  int64_t id = 0;
  std::string type;                   // "f32 f16 bf16 e4m3 s32 s8 u8"
  std::array<int64_t, 4> dimensions;  // [1]
  std::array<int64_t, 4> strides;     // [element]
  bool is_virtual = false;            // exists only inside the fused kernel

  bool operator==(const TensorSpec&) const = default;
};

// A cross-correlation. The number of groups follows from the channels of source and weights.
struct ConvolutionSpec {
  ProductDirection direction = ProductDirection::kForward;
  std::string compute_type;                          // of the sums: "f32", "s32"
  std::array<int64_t, 2> strides, dilations;         // height, width; dilation 1 is dense
  std::array<int64_t, 2> pads_before, pads_after;    // top, left; bottom, right
  int64_t source = 0, weights = 0, destination = 0;  // ids

  bool operator==(const ConvolutionSpec&) const = default;
};

enum class PointwiseMode { kAdd, kRelu };
struct PointwiseSpec {
  PointwiseMode mode = PointwiseMode::kAdd;
  int64_t input = 0, addend = 0, output = 0;  // ids; only kAdd uses `addend`
  std::string compute_type = "f32";

  bool operator==(const PointwiseSpec&) const = default;
};

struct GraphSpec {
  std::vector<TensorSpec> tensors;
  ConvolutionSpec convolution;
  std::vector<PointwiseSpec> pointwise;  // in order
};

GraphSpec GraphOf(const CudnnConv2dCase& request);

// Returns the strides of a dense tensor [element]. The last dimension is the fastest for kNchw, the
// second one for kNhwc.
std::array<int64_t, 4> DenseStrides(const std::array<int64_t, 4>& dimensions, Conv2dLayout layout);

// Returns the size of all tensors in memory, each counted once [byte].
double TensorBytes(const GraphSpec& graph);

// Returns the tensor with this id. Throws std::logic_error if there is none.
const TensorSpec& TensorOf(const GraphSpec& graph, int64_t id);

// cuDNN's numerical notes, with cuDNN's values (cudnnBackendNumericalNote_t).
enum class Note {
  kTensorCore,
  kDownConvertInputs,
  kReducedPrecisionReduction,
  kFft,
  kNondeterministic,
  kWinograd,
  kWinograd4x4,
  kWinograd6x6,
  kWinograd13x13,
  kStrictNan
};
// Returns "tensor_core", or the number of an unknown note, "note12".
std::string NoteName(int note);
// Returns "tile_size", or the number of an unknown knob, "knob50" (cudnnBackendKnobType_t).
std::string KnobName(int knob);

// One proposal of a heuristic.
struct EngineConfig {
  int64_t engine = 0;                          // cuDNN's global index
  std::vector<std::pair<int, int64_t>> knobs;  // type, value
  std::vector<int> notes;                      // numerical notes
  std::string heuristic;                       // which proposed it: "A", "B", "fallback"
};
bool HasNote(const EngineConfig& config, Note note);

// Returns whether two proposals are the same kernel with the same settings.
bool SameKernel(const EngineConfig& conv, const EngineConfig& other);

// Returns why a benchmark may not use an engine, which depends on the types of its tensors:
//   f32        no tensor cores and no narrowed inputs: cuDNN's own first choice for f32 tensors is
//              TF32 from compute capability 8.0 on
//   tf32       only tensor cores, because anything else would be f32
//   all        no sums in less than f32 (a note of some f16 engines), which compute something else
std::optional<Reason> ForbiddenReason(const Conv2dCase& conv, const EngineConfig& config);

// Returns the pipe that executes the products: "tf32.matrix", "fp16.matrix" or "bf16.matrix" for an
// engine with the note of tensor cores, otherwise "fp32.vector", since sums are f32. Before compute
// capability 10.0 cuDNN's integer engines lack that note even if they are tensor-core kernels. So
// an integer engine with a knob for tiles counts as "int8.matrix", and any other as "int8.vector".
std::string ConvPipe(const Conv2dCase& conv, const EngineConfig& config);

// Returns the case for checking the result of an engine: Winograd transforms the inputs and rounds
// them to their type, so the factors of each product are rounded as with an fpmath of that type.
// (For f32 the check already allows this rounding.)
Conv2dCase CheckedCase(const Conv2dCase& conv, const EngineConfig& config);

// Returns the largest workspace that a plan may need [byte]: half of the memory that is free beside
// the tensors, and at most 8 GiB. Larger plans are skipped and counted.
int64_t WorkspaceLimit(int64_t free_bytes);

// A plan that was timed.
struct TimedPlan {
  size_t config = 0;            // index of its config
  std::vector<double> seconds;  // [s] of one call, at least one repetition
};
struct FastestPlan {
  size_t config = 0;
  // [1] Median time of the heuristic's choice (config 0) over that of the fastest plan, at least 1.
  // Set if the heuristic's choice was timed.
  std::optional<double> heuristic_over_best;
};
// Times plans in rounds, so that a change of the GPU's clock affects all of them alike. `seconds`
// returns the mean time of one of `calls` calls. If it throws, the plan is dropped, after
// `require_gpu`, which throws if the failure made the GPU unusable. If no plan is left, throws the
// first broken failure (std::runtime_error), or else the first refusal (Unsupported).
std::vector<TimedPlan> TimePlans(size_t plans,
                                 const std::function<double(size_t plan, int calls)>& seconds,
                                 const std::function<void()>& require_gpu);

// Returns the fastest plan by the median. Another plan replaces the heuristic's choice only if its
// median is 2 % faster, or if all its repetitions are faster than all those of the choice. Throws
// std::logic_error for no plans.
FastestPlan Fastest(const std::vector<TimedPlan>& plans);

// Returns the fastest plan with a right result and the number of faster plans with a wrong result.
// If all results are wrong, returns the fastest plan, with `wrong` = 0.
struct FastestRightPlan {
  FastestPlan plan;
  size_t wrong = 0;
};
FastestRightPlan FastestRight(std::vector<TimedPlan> plans,
                              const std::function<bool(size_t config)>& is_right);

// Runs the current plan. If that throws and `require_gpu` does not, continues with the next plan,
// which `another` makes current (it returns false if none is left). Returns the number of plans
// that failed. Throws as TimePlans if all plans fail.
size_t RunFirstThatWorks(const std::function<void()>& run, const std::function<bool()>& another,
                         const std::function<void()>& require_gpu);

// Throws Unsupported for cases that no engine supports (backward passes of integers) and for fp8
// cases that GraphOf does not describe (backward passes, bias, relu).
void RequireConvSupport(const Conv2dCase& conv);

// Throws the reasons why no proposal became a plan, the most frequent first, and for `int8` the
// type that cuDNN has instead: "none of 38 proposals of cuDNN can be used: 30 tensor cores round
// f32 inputs to tf32; 8 workspace above 2.1 GB". `modes` are the heuristics that failed. Throws
// Unsupported if all failures are refusals, otherwise std::runtime_error.
[[noreturn]] void ThrowNoPlan(const Conv2dCase& conv,
                              const std::vector<library_rules::Failure>& proposals,
                              const std::vector<library_rules::Failure>& modes = {});

// The chosen engine, and how many plans the choice was made from.
struct PlanChoice {
  EngineConfig config;
  int64_t workspace_bytes = 0;
  double tensor_bytes = 0;  // [byte] of the call's tensors
  size_t proposed = 0;      // proposals of the heuristics
  size_t refused = 0;       // proposals that the rules of the type forbid
  size_t broke = 0;         // plans that failed when they ran, whether timed or not
  size_t timed = 0;         // plans that were timed; only EngineChoice::kBest times any
  size_t wrong = 0;         // plans that are faster than the chosen one, with a wrong result
};

// Returns whether the engine copies its tensors into another layout and back, which means several
// launches and three times the traffic. cuDNN does not report this, but the size of the workspace
// shows it: that of all tensors and a few bytes (for f32 forward with cuDNN 9.19, 16 byte more in
// NHWC, and no workspace in NCHW).
bool ConvertsLayouts(const PlanChoice& choice);

// Returns ProductWork on the engine's pipe. It counts one launch, or an unknown number if the
// workspace is as large as the tensors, because one kernel then leaves data in it for another.
Work ConvWork(const Conv2dCase& conv, const PlanChoice& choice);

// Returns "engine 62 (tile_size 3, stages 2), tensor_core, workspace 131 B: first of heuristic A,
// 40 proposed, 34 not f32", with "workspace 131 B (converts layouts)" for an engine that copies its
// tensors. The text contains no times, so that it is the same for the same choice.
std::string Describe(const PlanChoice& choice, std::string_view type);

}  // namespace dlroof::conv2d
