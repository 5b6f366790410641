// The parts of Conv2D/gpu/cudnn that need no CUDA, so that names parse alike in every build and the
// rules can be tested: the parsed name, a description of the graph for cuDNN's backend API
// (tensors, one convolution, fused operations), and rules for cuDNN's engines (which ones a type
// may use, their pipes, choosing the fastest, their text in a record).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/conv2d/case.h"
#include "bench/workload/library_rules.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/work.h"

namespace dlroof::conv2d {

// How to choose among cuDNN's engines.
enum class EngineChoice {
  kHeuristic,  // the first allowed engine in cuDNN's order (heuristic mode A) that finalizes
  kBest,       // times all proposals and takes the fastest engine
  kNumbered    // the first proposal with the engine number in the name
};

struct CudnnConv2dCase {
  // The layout is kNchw or kNhwc, never kAny: cuDNN does not choose layouts. The type "tf32" means
  // f32 tensors with `fpmath` "tf32-truncated": tensor cores ignore the low bits.
  Conv2dCase conv;
  EngineChoice choice = EngineChoice::kHeuristic;
  int64_t engine = 0;  // cuDNN's global index; only for kNumbered
  // The call copies the source into a tensor with explicit padding (bwd_data: the gradient out of
  // one), and cuDNN gets a convolution without padding, as frameworks do for unequal padding.
  bool padded = false;

  bool operator==(const CudnnConv2dCase&) const = default;
};

// Parses a name. Types: f32 (without tensor cores and narrower inputs), tf32, f16, bf16, int8 and
// mixes of 8-bit integers such as s8s8f32. Options, in this order: bias, relu (fused into fwd),
// nchw (default: NHWC, as tensor cores read channels), padded (CudnnConv2dCase::padded), best or
// engineN (default: the heuristic's engine). Throws BadInput with the column in the full name.
CudnnConv2dCase ReadCudnnConv2dCase(const workload::BenchmarkName& name);

// Ids of the graph's tensors.
enum TensorId : int64_t {
  kSourceId = 1,       // x, or its gradient
  kWeightsId = 2,      // w, or its gradient
  kDestinationId = 3,  // y, or its gradient
  kBiasId = 4,
  kSumId = 5,    // result of the convolution, before bias or relu
  kBiasedId = 6  // result of the bias, before relu
};

// A tensor of four dimensions: n c h w (source), k c/groups r s (weights), n k P Q (destination), 1
// k 1 1 (bias). The strides define its memory layout.
struct TensorSpec {
  int64_t id = 0;
  std::string type;                   // one of "f32 f16 bf16 e4m3 s32 s8 u8"
  std::array<int64_t, 4> dimensions;  // [1]
  std::array<int64_t, 4> strides;     // [element]
  bool is_virtual = false;            // exists only inside the fused kernel

  bool operator==(const TensorSpec&) const = default;
};

// A cross-correlation. The channels of source and weights imply the number of groups.
struct ConvolutionSpec {
  ProductDirection direction = ProductDirection::kForward;
  std::string compute_type;                          // type of the sums: "f32", "s32"
  std::array<int64_t, 2> strides, dilations;         // height, width; dilation 1 is dense
  std::array<int64_t, 2> pads_before, pads_after;    // top, left; bottom, right
  int64_t source = 0, weights = 0, destination = 0;  // tensor ids

  bool operator==(const ConvolutionSpec&) const = default;
};

enum class PointwiseMode { kAdd, kRelu };
struct PointwiseSpec {
  PointwiseMode mode = PointwiseMode::kAdd;
  int64_t input = 0, addend = 0, output = 0;  // tensor ids; `addend` only for kAdd
  std::string compute_type = "f32";

  bool operator==(const PointwiseSpec&) const = default;
};

struct GraphSpec {
  std::vector<TensorSpec> tensors;
  ConvolutionSpec convolution;
  std::vector<PointwiseSpec> pointwise;  // in order of execution
};

// Returns the graph given to cuDNN. If `request.padded`, its source includes the padding.
GraphSpec GraphOf(const CudnnConv2dCase& request);

// Returns the source without padding: the graph's source unless `request.padded`.
TensorSpec PlainSource(const CudnnConv2dCase& request);

// Copies a source into (or out of) a tensor with explicit padding: `planes` x `rows` rows of
// `row_bytes` bytes, with different pitches in the two tensors.
struct PaddingCopy {
  int64_t row_bytes = 0, rows = 0, planes = 0;
  int64_t plain_pitch = 0;                    // [byte] distance between rows without padding
  int64_t padded_pitch = 0, padded_rows = 0;  // [byte] distance with padding; rows per plane
  int64_t first_byte = 0, first_row = 0;      // offset of the source in a plane with padding

  bool operator==(const PaddingCopy&) const = default;
};
PaddingCopy PaddingCopyOf(const CudnnConv2dCase& request);

// Returns the strides [elements] of a dense tensor. kNchw: the last dimension is contiguous; kNhwc:
// the second (channels).
std::array<int64_t, 4> DenseStrides(const std::array<int64_t, 4>& dimensions, Conv2dLayout layout);

// Returns the total memory of the tensors that are not virtual [byte].
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
// Returns the name of a note ("tensor_core"), or "note12" for an unknown number.
std::string NoteName(int note);
// Returns the name of a knob (cudnnBackendKnobType_t), or "knob50" for an unknown number.
std::string KnobName(int knob);

// A proposal of one of cuDNN's heuristics.
struct EngineConfig {
  int64_t engine = 0;                          // cuDNN's global index
  std::vector<std::pair<int, int64_t>> knobs;  // type and value of each knob
  std::vector<int> notes;                      // numerical notes
  std::string heuristic;                       // "A", "B" or "fallback"
};
bool HasNote(const EngineConfig& config, Note note);

// Returns whether two proposals have the same engine and knobs.
bool SameKernel(const EngineConfig& conv, const EngineConfig& other);

// Returns why a benchmark must not use this engine, or nullopt, by the benchmark's type:
// - f32: no tensor cores and no narrowed inputs (for f32 tensors cuDNN prefers TF32 from compute
//   capability 8.0 on)
// - tf32: only tensor cores, because other engines compute in f32
// - all: no accumulation narrower than f32 (a note of some f16 engines)
std::optional<Reason> ForbiddenReason(const Conv2dCase& conv, const EngineConfig& config);

// Returns the pipe of the multiply-adds. Engines with the note kTensorCore: "tf32.matrix",
// "fp16.matrix" or "bf16.matrix"; others: "fp32.vector", as sums are f32. Before compute capability
// 10.0 cuDNN's integer engines lack this note even if they use tensor cores: they have
// "int8.matrix" if they have a tile knob, otherwise "int8.vector".
std::string ConvPipe(const Conv2dCase& conv, const EngineConfig& config);

// Returns the case for checking an engine's result. Winograd engines round the transformed inputs
// to their type, which corresponds to an fpmath mode of that type (already allowed for f32).
Conv2dCase CheckedCase(const Conv2dCase& conv, const EngineConfig& config);

// Returns the maximum workspace of a plan [byte]: half of the memory left free by the tensors, at
// most 8 GiB. Plans that need more are skipped and counted.
int64_t WorkspaceLimit(int64_t free_bytes);

struct TimedPlan {
  size_t config = 0;            // index of the plan's proposal
  std::vector<double> seconds;  // [s] per call, one value per repetition
};
struct FastestPlan {
  size_t config = 0;
  // [1] Median time of the heuristic's choice (config 0) / that of the fastest plan, at least 1.
  // Absent if the heuristic's choice was not timed.
  std::optional<double> heuristic_over_best;
};
// Times plans in rounds, so that changes of the GPU's clock affect all alike. seconds(plan, calls)
// returns the mean time per call [s]; if it throws, the plan is dropped, after `require_gpu`, which
// throws if the GPU has become unusable. If no plan is left, throws the first broken failure
// (std::runtime_error), otherwise the first failure (Unsupported).
std::vector<TimedPlan> TimePlans(size_t plans,
                                 const std::function<double(size_t plan, int calls)>& seconds,
                                 const std::function<void()>& require_gpu);

// Returns the plan with the smallest median time. It replaces the heuristic's choice (config 0), if
// that was timed, only if it is 2 % faster or each of its repetitions is faster than all of the
// choice's. Throws std::logic_error for no plans.
FastestPlan Fastest(const std::vector<TimedPlan>& plans);

// The fastest plan with a correct result, and the faster plans, whose results are wrong. If all
// results are wrong: the fastest plan and an empty list.
struct FastestRightPlan {
  FastestPlan plan;
  std::vector<size_t> wrong = {};  // indices of proposals, fastest first
};
FastestRightPlan FastestRight(std::vector<TimedPlan> plans,
                              const std::function<bool(size_t config)>& is_right);

// Times `fastest` and the heuristic's choice (config 0) again, in alternating rounds, because the
// fastest of many plans may just have been lucky. Returns `fastest` with the new ratio, or the
// heuristic's choice if it is as fast and `heuristic_is_right`. Returns `fastest` unchanged if it
// is this choice, or if this was not timed. `seconds` and `require_gpu`: as in TimePlans.
FastestPlan Confirmed(const FastestPlan& fastest,
                      const std::function<double(size_t plan, int calls)>& seconds,
                      const std::function<void()>& require_gpu,
                      const std::function<bool()>& heuristic_is_right);

// Calls `run` for the current plan. If it throws and `require_gpu` does not, tries the next plan,
// made current by `another` (which returns false if none is left). Returns the number of failed
// plans. Throws as TimePlans if all fail.
size_t RunFirstThatWorks(const std::function<void()>& run, const std::function<bool()>& another,
                         const std::function<void()>& require_gpu);

// Throws Unsupported for calls that no engine supports (integer backward passes) and fp8 calls that
// GraphOf cannot describe (backward passes, bias, relu).
void RequireConvSupport(const Conv2dCase& conv);

// Throws the reasons why no proposal became a plan, the most frequent first: "none of 38 proposals
// of cuDNN can be used: 30 tensor cores round f32 inputs to tf32; 8 workspace above 2.1 GB". For
// int8 also names the type that cuDNN supports. `modes`: failures of heuristics. Throws
// std::runtime_error if any failure is broken, otherwise Unsupported.
[[noreturn]] void ThrowNoPlan(const Conv2dCase& conv,
                              const std::vector<workload::Failure>& proposals,
                              const std::vector<workload::Failure>& modes = {});

// The chosen engine, and the numbers of proposals and plans by outcome.
struct PlanChoice {
  EngineConfig config;
  int64_t workspace_bytes = 0;
  double tensor_bytes = 0;  // [byte] size of the call's tensors
  size_t proposed = 0;      // proposed by the heuristics
  size_t refused = 0;       // excluded by ForbiddenReason
  size_t broke = 0;         // plans that failed to run
  size_t timed = 0;         // plans that were timed; only for EngineChoice::kBest
  // Plans with a wrong result that are faster than the chosen one or before it in the heuristic.
  size_t wrong = 0;
};

// Returns ProductWork on the engine's pipe, with one launch, or an unknown number if the workspace
// is as large as the tensors and so holds data between kernels. The copies of a `padded` call (and
// its zero-fill, except for bwd_data) are launches, too. Compulsory bytes are without padding.
Work CallWork(const CudnnConv2dCase& request, const PlanChoice& choice);

// Returns "engine 62 (tile_size 3, stages 2), tensor_core, workspace 131 B", the start of
// DescribeCall. A workspace as large as all tensors holds a copy of them in another layout.
std::string DescribeEngine(const PlanChoice& choice);

// Returns "engine 62 (tile_size 3, stages 2), tensor_core, workspace 131 B: first of heuristic A,
// 40 proposed, 34 not f32", and a `padded` call's copies. No times: equal choices have equal texts.
std::string DescribeCall(const CudnnConv2dCase& request, const PlanChoice& choice);

}  // namespace dlroof::conv2d
