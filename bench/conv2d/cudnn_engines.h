// Facts of cuDNN's engines, and the rules on them: which of them a type may use, on which pipe
// they work, which is the fastest, how a record names them. Plain numbers, no CUDA.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/conv2d/cudnn_case.h"
#include "bench/library_rules/cudnn_rules.h"
#include "counters/work.h"

namespace dlroof::conv2d {

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
[[noreturn]] void ThrowNoPlan(const Conv2dCase& conv, const std::vector<library_rules::WhyNot>& reasons,
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

// ProductWork on the engine's pipe; one launch, unless the workspace has room for the tensors: what
// one kernel leaves there another reads, and how many there are is not known.
Work ConvWork(const Conv2dCase& conv, const PlanChoice& choice);

// "engine 62 (tile_size 3, stages 2), tensor_core, workspace 131 B: first of heuristic A, 40
// proposed, 34 not f32". For an engine that copies its tensors: "workspace 131 B (converts
// layouts)". The same for the same choice: no times.
std::string Describe(const PlanChoice& choice, std::string_view type);

}  // namespace dlroof::conv2d
