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

enum class EngineChoice {
  kHeuristic,  // the first allowed proposal in cuDNN's order (heuristic mode A) that runs
  kBest,       // the fastest of all proposals that run and whose result is correct
  kNumbered    // the first proposal whose engine has the number in the benchmark's name
};

struct CudnnConv2dCase {
  // The layout is kNchw or kNhwc, never kAny: cuDNN does not choose layouts. The type "tf32" means
  // f32 tensors with `fpmath` "tf32-truncated": tensor cores ignore the low bits.
  Conv2dCase conv;
  EngineChoice choice = EngineChoice::kHeuristic;
  int64_t engine = 0;  // cuDNN's global index; only for kNumbered
  // The call copies the source into a padded tensor (bwd_data: the gradient out of one), and cuDNN
  // gets a convolution without padding. Frameworks do this for padding that differs at the ends.
  bool padded = false;
};

// Parses a name. Types: f32 (without tensor cores and narrower inputs), tf32, f16, bf16, int8 and
// mixes of 8-bit integers such as s8s8f32. Options, in this order: bias, relu (fused into fwd),
// nchw (default: NHWC, as tensor cores read channels), padded (CudnnConv2dCase::padded), best or
// engineN (default: the heuristic's engine). Throws BadInput with the column in the full name.
CudnnConv2dCase ReadCudnnConv2dCase(const workload::BenchmarkName& name);

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

// An operation in f32 that is fused into the convolution: adds a tensor, or is relu.
struct PointwiseSpec {
  int64_t input = 0, addend = 0, output = 0;  // tensor ids; `addend` 0: relu

  bool operator==(const PointwiseSpec&) const = default;
};

// A cross-correlation and what is fused into it.
struct GraphSpec {
  std::vector<TensorSpec> tensors;
  Conv2dProblem problem;  // the channels of source and weights imply the number of groups
  ProductDirection direction = ProductDirection::kForward;
  std::string compute_type;                   // type of the sums: "f32", "s32"
  int64_t destination = kDestinationId;       // kSumId if an operation follows
  std::vector<PointwiseSpec> pointwise = {};  // in order of execution
};

// Returns the graph for cuDNN. If `request.padded`, the graph's source includes the padding.
GraphSpec GraphOf(const CudnnConv2dCase& request);

// Returns the source without padding: the graph's source unless `request.padded`.
TensorSpec PlainSource(const CudnnConv2dCase& request);

// The copy of a source into (or out of) a tensor with explicit padding: `planes` x `rows` rows of
// `row_bytes` bytes. The two tensors have different pitches.
struct PaddingCopy {
  int64_t row_bytes = 0, rows = 0, planes = 0;
  int64_t plain_pitch = 0;                    // [byte] from row to row without padding
  int64_t padded_pitch = 0, padded_rows = 0;  // [byte] from row to row; rows per plane
  int64_t first_byte = 0, first_row = 0;      // where the source begins in a padded plane
};
PaddingCopy PaddingCopyOf(const CudnnConv2dCase& request);

// Returns the strides [elements] of a dense tensor. The contiguous dimension is the last one for
// kNchw and the second one (channels) for kNhwc.
std::array<int64_t, 4> DenseStrides(const std::array<int64_t, 4>& dimensions, Conv2dLayout layout);

double Bytes(const TensorSpec& tensor);  // [byte] its size
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
// Returns the name of a note, e.g. "tensor_core", or e.g. "note12" for an unknown number.
std::string NoteName(int note);
// Returns the name of a knob (cudnnBackendKnobType_t), or e.g. "knob50" for an unknown number.
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

// Returns why a benchmark must not use this engine, or nullopt if it may. Rules by its type:
// - f32: the engine must neither use tensor cores nor narrow its inputs (for f32 tensors cuDNN
//   prefers TF32 from compute capability 8.0 on)
// - tf32: the engine must use tensor cores, because other engines compute in f32
// - every type: the engine must not sum in less than f32, as some f16 engines do
std::optional<Reason> ForbiddenReason(const Conv2dCase& conv, const EngineConfig& config);

// Returns the pipe of the multiply-adds. It is "tf32.matrix", "fp16.matrix" or "bf16.matrix" for
// engines with the note kTensorCore, else "fp32.vector", because sums are f32. fp8 is always
// "fp8.matrix". Integer engines have "int8.matrix" with this note or a tile knob, else
// "int8.vector": before compute capability 10.0 they lack the note even if they use tensor cores.
std::string ConvPipe(const Conv2dCase& conv, const EngineConfig& config);

// Returns the case whose allowed error applies to an engine's result. Winograd engines round the
// transformed inputs to f16 or bf16, an error like that of an fpmath mode, which is set for these.
Conv2dCase CheckedCase(const Conv2dCase& conv, const EngineConfig& config);

// Returns the largest workspace that a plan may have [byte]: half of `free_bytes`, the GPU memory
// that the tensors leave free, but at most 8 GiB.
int64_t WorkspaceLimit(int64_t free_bytes);

struct TimedPlan {
  size_t config = 0;            // index of the plan among the candidates
  std::vector<double> seconds;  // [s] per call, one value per repetition
};
struct FastestPlan {
  size_t config = 0;
  // [1] Median time of the heuristic's choice (config 0) / median time of this plan, at least 1.
  // Absent if the heuristic's choice was not timed.
  std::optional<double> heuristic_over_best;
};
// Times plans in rounds, so that changes of the GPU's clock affect all plans alike. seconds(plan,
// calls) returns the mean time per call [s]. If it throws, require_gpu() is called, which throws if
// the GPU has become unusable, and the plan is left out. If no plan is left, throws the first
// broken failure (std::runtime_error), or else the first failure (Unsupported).
std::vector<TimedPlan> TimePlans(size_t plans,
                                 const std::function<double(size_t plan, int calls)>& seconds,
                                 const std::function<void()>& require_gpu);

// Returns the plan with the smallest median time. If the heuristic's choice (config 0) was timed,
// it is returned instead unless the fastest plan's median is 2 % smaller or all its repetitions are
// faster than every repetition of that choice. Throws std::logic_error for no plans.
FastestPlan Fastest(const std::vector<TimedPlan>& plans);

// The fastest plan with a correct result, and the plans that are faster but wrong. If all results
// are wrong, it is the fastest plan and an empty list.
struct FastestRightPlan {
  FastestPlan plan;
  std::vector<size_t> wrong = {};  // indices of plans, fastest first
};
FastestRightPlan FastestRight(std::vector<TimedPlan> plans,
                              const std::function<bool(size_t config)>& is_right);

// Times `fastest` and the heuristic's choice (config 0) again, interleaved, because the fastest of
// many plans may owe its rank to chance. Returns `fastest` with the new ratio, or the heuristic's
// choice if this is as fast and its result is correct. Returns `fastest` unchanged if it is the
// heuristic's choice or if that was not timed. `seconds`, `require_gpu`: as in TimePlans.
FastestPlan Confirmed(const FastestPlan& fastest,
                      const std::function<double(size_t plan, int calls)>& seconds,
                      const std::function<void()>& require_gpu,
                      const std::function<bool()>& heuristic_is_right);

// Calls run(), which executes the current plan. If it throws and require_gpu() does not, another()
// makes the next plan current (false: none is left), and run() is called again. Returns the number
// of plans that failed. If all fail, throws as TimePlans does.
size_t RunFirstThatWorks(const std::function<void()>& run, const std::function<bool()>& another,
                         const std::function<void()>& require_gpu);

// Throws Unsupported for integer backward passes, which no engine supports, and for fp8 calls that
// GraphOf cannot describe: backward passes, bias, relu.
void RequireConvSupport(const Conv2dCase& conv);

// Throws the reasons why no proposal became a plan, the most frequent first, e.g. "none of 38
// proposals of cuDNN can be used: 30 tensor cores round f32 inputs to tf32; 8 workspace above 2.1
// GB". For int8 the message also names the type that cuDNN supports. `modes`: broken failures of
// heuristics. Throws std::runtime_error if any failure is broken, otherwise Unsupported.
[[noreturn]] void ThrowNoPlan(const Conv2dCase& conv,
                              const std::vector<workload::Failure>& proposals,
                              const std::vector<workload::Failure>& modes = {});

// The chosen engine, and the numbers of proposals and plans by outcome.
struct PlanChoice {
  EngineConfig config;
  int64_t workspace_bytes = 0;
  double tensor_bytes = 0;  // [byte] size of the call's tensors
  size_t proposed = 0;      // number of proposals of the heuristics
  size_t refused = 0;       // number of proposals that ForbiddenReason excludes
  size_t broke = 0;         // number of plans that failed to run
  size_t timed = 0;         // number of timed plans; only for EngineChoice::kBest
  // Number of wrong plans that were tried before the chosen plan, or are faster than it (kBest).
  size_t wrong = 0;
};

// Returns ProductWork on the engine's pipe, with one launch, plus one for a `padded` call's copy
// and (not in bwd_data) one for its zeros. The number is absent if the workspace is as large as the
// tensors: several kernels then pass data through it. Compulsory bytes are those without padding.
Work CallWork(const CudnnConv2dCase& request, const PlanChoice& choice);

// Returns the start of DescribeCall's text: engine, knobs, notes and workspace.
std::string DescribeEngine(const EngineConfig& config, int64_t workspace_bytes);

// Returns e.g. "engine 62 (tile_size 3, stages 2), tensor_core, workspace 131 B: first of heuristic
// A, 40 proposed, 34 not f32". The text has no times, so that equal choices have equal texts.
std::string DescribeCall(const CudnnConv2dCase& request, const PlanChoice& choice);

}  // namespace dlroof::conv2d
