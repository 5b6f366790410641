// The time of PyTorch's operators outside of oneDNN's primitives, from a torch.profiler trace of
// some of the program's steps. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/programs/program_summary.h"
#include "reporters/imports/trace.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::programs {

struct OperatorTime {
  std::size_t op = 0;        // index into Trace::ops
  double seconds = 0;        // [s] self time in the ranges, without oneDNN's primitives
  std::vector<double> each;  // [s] by call that began in the ranges, in order
  // oneDNN's primitives ran in at least half of these calls, so the operator's FLOPs and bytes are
  // in the primitives' records.
  bool by_onednn = false;
};

// The divided time of some ranges. Each moment is counted once: for a running oneDNN primitive,
// else for the innermost operators of all threads (in equal parts), else for the program itself.
struct DividedTime {
  double seconds = 0;                     // [s] of the ranges, without the hooks' time
  double hook_seconds = 0;                // [s] in which only hooks of modules ran
  double onednn_seconds = 0;              // [s] in which a primitive ran or was created
  double onednn_in_operator_seconds = 0;  // [s] part of onednn_seconds within an operator
  double operator_seconds = 0;            // [s] in operators, without oneDNN
  std::vector<OperatorTime> operators;    // the longest first
  std::vector<ModuleTime> modules;        // the longest first
};

// Divides the time of `ranges` (ascending, disjoint) among operators and oneDNN's executions and
// creations (`primitives`, in any order, on the same clock). The trace must contain its calls.
DividedTime DivideTime(const imports::Trace& trace, const std::vector<TimeRange>& primitives,
                       const std::vector<TimeRange>& ranges);

// Returns the time ranges of the main process's executions and creations that have time stamps.
std::vector<TimeRange> PrimitiveRanges(const logs::VerboseLog& log);

// Returns the steps of the outermost module that is called most often: from the begin of each call
// to the begin of the next one.
std::vector<TimeRange> ModelSteps(const imports::Trace& trace);

// The prefix of the names of modules' spans (torch_hook/sitecustomize.py).
inline constexpr const char* kModuleSpan = "dlroof: ";
// Returns "Bert.layers.*.f1" for "dlroof: Bert.layers.3.f1".
std::string ModulePath(std::string_view span);
// The name of spans in which dlroof's hooks of modules run; their time is not the program's.
inline constexpr const char* kHookSpan = "dlroof hook";

// Adds PyTorch's operators to the time breakdown of a step: an entry of summary.primitives for each
// (operators below 0.1 % share the last entry), and sets summary.traced. The steps are
//   - the log's `steps` that the trace contains completely; if the log has steps, but the trace
//     contains none of them, adds nothing;
//   - else the calls of the model in the trace, without the first call if there are several;
//   - else one step, which is the whole trace.
// Operator times are scaled to the step's time outside oneDNN, because the profiler slows down the
// steps that it records. Returns the operators that have an entry of their own.
std::vector<OperatorTime> AddOperators(const imports::Trace& trace, const logs::VerboseLog& log,
                                       const Steps& steps, ProgramSummary& summary);

}  // namespace dlroof::programs
