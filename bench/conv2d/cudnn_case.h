// A parsed name of Conv2D/gpu/cudnn, and the graph that cuDNN's backend API wants, in plain
// numbers: tensors, one convolution, what is fused behind it. No CUDA here: names parse the same
// way in every build.
//
// Facts of cuDNN's engines, and the rules on them: which of them a type may use, on which pipe
// they work, which is the fastest, how a record names them. Plain numbers, no CUDA.
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
#include "counters/work.h"

namespace dlroof::conv2d {

// Choice among cuDNN's engines.
enum class EngineChoice {
  kHeuristic,  // the first of cuDNN's own order (heuristic mode A) that may be used and finalizes
  kBest,       // the fastest of all that its heuristics propose, each one timed
  kNumbered    // the first proposal with a given number
};

struct CudnnConv2dCase {
  // Its layout is kNchw or kNhwc, never kAny: cuDNN takes the layout that it is given. A type
  // "tf32" is f32 tensors with `fpmath` "tf32-truncated": tensor cores ignore the low bits.
  Conv2dCase conv;
  EngineChoice choice = EngineChoice::kHeuristic;
  int64_t engine = 0;  // kNumbered: cuDNN's global index

  bool operator==(const CudnnConv2dCase&) const = default;
};

// Types: f32 (no tensor cores, no narrower inputs), tf32, f16, bf16, int8 and mixes of 8-bit
// integers such as s8s8f32. Options, in this order: bias, relu (fwd, fused), nchw (default: NHWC,
// the order in which tensor cores read channels), best or engineN (default: the heuristic's
// choice). Throws BadInput with the column within the whole name.
CudnnConv2dCase ReadCudnnConv2dCase(const workload::BenchmarkName& name);

// Unique ids of tensors.
enum TensorId : int64_t {
  kSourceId = 1,       // x, or its gradient
  kWeightsId = 2,      // w, or its gradient
  kDestinationId = 3,  // y, or its gradient
  kBiasId = 4,
  kSumId = 5,    // what the convolution hands to bias or relu
  kBiasedId = 6  // what bias hands to relu
};

// A tensor of four dimensions: n c h w (source), k c/groups r s (weights), n k P Q (destination),
// 1 k 1 1 (bias), whatever its order in memory, which the strides say.
struct TensorSpec {
  int64_t id = 0;
  std::string type;                   // "f32 f16 bf16 e4m3 s32 s8 u8"
  std::array<int64_t, 4> dimensions;  // [1]
  std::array<int64_t, 4> strides;     // [element]
  bool is_virtual = false;            // never in memory

  bool operator==(const TensorSpec&) const = default;
};

// Cross-correlation. The groups follow from the channels of source and weights.
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
  int64_t input = 0, addend = 0, output = 0;  // ids; addend: kAdd alone
  std::string compute_type = "f32";

  bool operator==(const PointwiseSpec&) const = default;
};

struct GraphSpec {
  std::vector<TensorSpec> tensors;
  ConvolutionSpec convolution;
  std::vector<PointwiseSpec> pointwise;  // in order
};

GraphSpec GraphOf(const CudnnConv2dCase& request);

// [element] Strides of a dense tensor: the last dimension fastest (kNchw), or the second one
// (kNhwc).
std::array<int64_t, 4> DenseStrides(const std::array<int64_t, 4>& dimensions, Conv2dLayout layout);

// [byte] of all its tensors in memory, each once.
double TensorBytes(const GraphSpec& graph);

// The tensor with this id. Throws std::logic_error when there is none.
const TensorSpec& TensorOf(const GraphSpec& graph, int64_t id);

// cuDNN's numerical notes, with its values (cudnnBackendNumericalNote_t).
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
// "tensor_core"; of a value that this source does not know its number, "note12".
std::string NoteName(int note);
// "tile_size"; of a value that this source does not know its number, "knob50". Values are those of
// cudnnBackendKnobType_t.
std::string KnobName(int knob);

// One proposal of a heuristic.
struct EngineConfig {
  int64_t engine = 0;                          // cuDNN's global index
  std::vector<std::pair<int, int64_t>> knobs;  // type, value
  std::vector<int> notes;                      // numerical ones
  std::string heuristic;                       // that proposed it: "A", "B", "fallback"
};
bool HasNote(const EngineConfig& config, Note note);

// Returns true if two proposals are the same kernel with the same settings, whoever proposed them.
bool SameKernel(const EngineConfig& conv, const EngineConfig& other);

// Why a benchmark may not use it; empty: it may. By the types of its tensors:
//   f32        no tensor cores, no narrowed inputs: cuDNN's own first choice for f32 tensors is
//              TF32 from compute capability 8.0 on
//   tf32       tensor cores only: anything else would be f32
//   all        no sums in less than f32 (a note of some f16 engines), which is another computation
std::string WhyNotAllowed(const Conv2dCase& conv, const EngineConfig& config);

// The pipe that executes the products: "tf32.matrix", "fp16.matrix", "bf16.matrix" where the engine
// notes tensor cores, else "fp32.vector", since the sums are f32. cuDNN's engines for integers do
// not carry that note before compute capability 10.0 even where they are tensor-core kernels, so
// every one with a tile to choose counts as "int8.matrix", its plain ones as "int8.vector".
std::string ConvPipe(const Conv2dCase& conv, const EngineConfig& config);

// The case as its result is to be checked: Winograd transforms the inputs and rounds what comes out
// to their type, so that each product's factors are rounded as with an fpmath of that type (f32:
// not beyond what the check allows anyway).
Conv2dCase CheckedCase(const Conv2dCase& conv, const EngineConfig& config);

// [byte] of workspace that a plan may ask for: half of what is free beside the tensors, 8 GiB at
// most. Plans above it are left out, and counted.
int64_t WorkspaceLimit(int64_t free_bytes);

// A plan that was timed.
struct TimedPlan {
  size_t config = 0;            // which of the configs
  std::vector<double> seconds;  // [s] of one call, one value per repetition; never empty
};
struct FastestPlan {
  size_t config = 0;
  // [1] Median time of the heuristic's choice (config 0) over that of the fastest, at least 1;
  // absent where that is not among the plans.
  std::optional<double> heuristic_over_best;
};
// Times plans that may fail as they run, in rounds, so that a change of the clock meets all of them
// alike. `seconds` of one call, the mean of `calls`; where it throws, the plan is dropped after
// `require_gpu`, which throws where the failure left nothing usable behind. When no plan is left,
// throws the first that broke (std::runtime_error), or that was refused where all were
// (Unsupported).
std::vector<TimedPlan> TimePlans(size_t plans,
                                 const std::function<double(size_t plan, int calls)>& seconds,
                                 const std::function<void()>& require_gpu);

// By the median. The heuristic's choice stays unless the fastest is 2 % faster, or slowest still
// faster than it at its fastest. Throws std::logic_error for no plans.
FastestPlan Fastest(const std::vector<TimedPlan>& plans);

// The fastest of those whose result is right, and how many were set aside before it; where no
// result is right the fastest of all, with none set aside. `is_right` is asked for a config.
struct FastestRightPlan {
  FastestPlan plan;
  size_t wrong = 0;
};
FastestRightPlan FastestRight(std::vector<TimedPlan> plans,
                              const std::function<bool(size_t config)>& is_right);

// Runs the plan at hand; where that throws, and `require_gpu` does not, the one that `another`
// takes. Returns the number of those that failed. Throws as TimePlans where `another` has none
// left.
size_t RunFirstThatWorks(const std::function<void()>& run, const std::function<bool()>& another,
                         const std::function<void()>& require_gpu);

// Throws Unsupported for what no engine can do and cuDNN would be asked for in vain: a backward
// pass of integers; and for what is not described of fp8: backward passes, bias, relu.
void RequireConvSupport(const Conv2dCase& conv);

// Throws why no proposal became a plan: how many fell to each reason, most first, and where `int8`
// was asked for what cuDNN has instead. "none of 38 proposals of cuDNN can be used: 30 tensor cores
// round f32 inputs to tf32; 8 workspace above 2.1 GB". `modes`: heuristics that broke. Unsupported
// where all were refused, else std::runtime_error.
[[noreturn]] void ThrowNoPlan(const Conv2dCase& conv,
                              const std::vector<library_rules::WhyNot>& reasons,
                              const std::vector<library_rules::WhyNot>& modes = {});

// Counts of a choice.
struct PlanChoice {
  EngineConfig config;
  int64_t workspace_bytes = 0;
  double tensor_bytes = 0;  // [byte] of the call's tensors
  size_t proposed = 0;      // by the heuristics
  size_t refused = 0;       // of them, by the rules of the type
  size_t broke = 0;         // plans that failed as they ran, before or among the timed
  size_t timed = 0;         // 0: not
  size_t wrong = 0;         // faster than the chosen one, with a wrong result
};

// Returns true if the engine copies its tensors into another order and back, which is several
// launches and three times the traffic. cuDNN does not say so; what gives it away is a workspace
// that is all tensors and a few bytes (f32 forward in NHWC with cuDNN 9.19: 16 byte more, and none
// in NCHW).
bool ConvertsLayouts(const PlanChoice& choice);

// ProductWork on the engine's pipe; one launch, unless the workspace has module for the tensors:
// what one kernel leaves there another reads, and how many there are is not known.
Work ConvWork(const Conv2dCase& conv, const PlanChoice& choice);

// "engine 62 (tile_size 3, stages 2), tensor_core, workspace 131 B: first of heuristic A, 40
// proposed, 34 not f32". For an engine that copies its tensors: "workspace 131 B (converts
// layouts)". The same for the same choice: no times.
std::string Describe(const PlanChoice& choice, std::string_view type);

}  // namespace dlroof::conv2d
