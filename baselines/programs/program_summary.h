// Facts about a program from its oneDNN log, in addition to the records of its primitives. They are
// stored as context.dlroof.program of a run file. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "reporters/imports/import.h"
#include "reporters/logs/primitive.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::programs {

// ---- Steps (iterations): marked by the program, or found as an exactly repeated sequence ----

struct StepRange {
  std::size_t begin = 0, end = 0;       // executions [begin, end)
  std::optional<double> begin_seconds;  // [s] on the clock of the executions
  std::optional<double> end_seconds;    // [s]; nullopt without a later time stamp
};

// kModel: calls of the model that torch.profiler recorded. kGraphs: launches of a CUDA graph.
enum class StepsFrom { kNone, kFound, kSpecified, kMarks, kModel, kGraphs };
inline constexpr KeyRow<StepsFrom> kStepsFrom[] = {
    {StepsFrom::kNone, "none"},   {StepsFrom::kFound, "found"}, {StepsFrom::kSpecified, "given"},
    {StepsFrom::kMarks, "marks"}, {StepsFrom::kModel, "model"}, {StepsFrom::kGraphs, "graphs"}};

struct Steps {
  StepsFrom from = StepsFrom::kNone;
  std::vector<StepRange> ranges = {};  // in order
  std::optional<Reason> reason = {};   // set if there are no steps
  std::string mark = {};               // NVTX range with which a GPU's steps begin (kMarks)
};

// A sequence that a stream repeats exactly from index `begin` to the stream's end.
struct RepeatedSequence {
  std::size_t begin = 0;
  std::size_t length = 0;  // [1] of the sequence
};

// Returns the sequence that the stream repeats at least three times up to its end. Of several,
// takes the sequence whose repetitions begin first, then the shortest. The first and the last
// repetition may be incomplete. Returns nullopt if the sequence is a single call, or if the
// repetitions are less than two thirds of the stream. Takes linear time.
std::optional<RepeatedSequence> FindRepetition(std::span<const std::uint32_t> stream);

// Returns the complete repetitions of FindRepetition's sequence as steps (kFound). If the whole
// stream is repetitions, the first step begins with it; else the last step ends with it.
Steps RepeatedSteps(std::span<const std::uint32_t> stream);

// Returns `count` steps (kSpecified): each begins with every k-th call of one kind, of which the
// stream has k x `count`. Of the kinds that allow this for some k, chooses the one with the largest
// number of steps of the same length in calls; in a tie, the one that is called first. Returns no
// steps if less than half have the same length.
Steps SpecifiedSteps(std::span<const std::uint32_t> stream, std::size_t count);

// Returns the steps of the main process's primitives, with wall-clock times: SpecifiedSteps if
// `count` is set, else the steps between the log's marks, else RepeatedSteps. Ranges are indices of
// executions; executions of other processes in a range are not part of the step.
Steps StepsOf(const logs::VerboseLog& log, std::optional<int> count = std::nullopt);

struct Timeline {
  // [s] Share of the wall time of each execution and creation of the main process: time in which
  // several run is divided among them, so that the sum is the time in which at least one runs. For
  // calls without a time stamp, and of other processes: the call's own time.
  std::vector<double> executions, creations;
  bool stamped = false;  // every execution has a time stamp
};

Timeline TimelineOf(const logs::VerboseLog& log);

// Returns the time [s] of each execution: its own time or, for a ukernel, its share of the wall
// time, because a program calls ukernels from all of its threads at the same time.
std::vector<double> CallSeconds(const logs::VerboseLog& log, const Timeline& timeline);

struct ProgramPrimitive {
  std::string record;        // name of its record
  bool is_operator = false;  // a PyTorch operator; times exclude oneDNN's primitives
  logs::PrimitiveText text;
  double calls = 0;                    // [1] calls in the log
  double seconds = 0;                  // [s] of all its calls
  bool moves_data = false;             // it has zero FLOPs
  std::optional<Reason> work_unknown;  // set if its FLOPs or bytes are not known
  double step_calls = 0;               // [1] in a steady step, on average
  double step_seconds = 0;             // [s] of wall time in a steady step, on average
  std::string benchmark;               // name of dlroof's benchmark of the same call, or ""
  std::string repro;                   // benchdnn's arguments for the same call, or ""
};

struct ProgramSteps {
  StepsFrom from = StepsFrom::kNone;
  std::optional<Reason> reason;  // set if there are no steps
  int count = 0;                 // [1] steps after the warm-up
  double primitives = 0;         // [1] per step, on average
  double warm_up_calls = 0;      // [1] primitives before the first step
  double warm_up_seconds = 0;    // [s] time of the warm_up_calls
  int warm_up_steps = 0;         // [1] first steps that are much slower than the median
  int outliers = 0;              // [1] later steps whose wall time is far from the median
  // Number of steps with time stamps at both ends, without outliers: wall times are over these.
  int timed = 0;                                                  // [1]
  std::optional<double> wall_seconds;                             // [s] mean
  std::optional<double> median_low_seconds, median_high_seconds;  // [s] 95 % interval (6+ steps)
  std::optional<double> least_wall_seconds, median_wall_seconds, most_wall_seconds;  // [s]
  double creation_seconds = 0;                    // [s] of wall time per step, on average
  double creation_hits = 0, creation_misses = 0;  // [1] per step, on average
};

// A process that executed primitives.
struct ProgramProcess {
  std::int64_t id = 0;  // 0: the log does not name its processes
  bool main = false;    // the steps consist of its calls
  double calls = 0;     // [1]
  double seconds = 0;   // [s] of all its calls
};

// ---- from a trace of PyTorch's profiler ----

using TimeRange = std::pair<double, double>;  // [s] begin, end

struct ModuleTime {
  std::string path;    // e.g. "Bert.layers.*.f1": stars replace numbers
  double seconds = 0;  // [s] self time (without inner modules), with oneDNN's primitives
};

// Facts from torch.profiler's trace. Shares are of `window_seconds`.
struct TracedProgram {
  int steps = 0;                    // [1] complete steps in the trace; 0 if steps are unknown
  bool of_no_step = false;          // the trace has no complete step of the program: no shares
  double window_seconds = 0;        // [s] of the complete steps (or the trace), without hooks
  double hook_seconds = 0;          // [s] in which modules' hooks ran, per step or in the trace
  double onednn_share = 0;          // [1] time in which oneDNN's primitives ran or were created
  double onednn_matched = 1;        // [1] share of oneDNN's time that is in an operator
  double operator_share = 0;        // [1] time in operators, without oneDNN
  double rest_share = 0;            // [1] other time: Python, the program itself
  std::vector<ModuleTime> modules;  // per step or in the trace; the longest first
};

struct ProgramSummary {
  std::string log, command;            // as specified by the user; the command may be empty
  std::optional<double> wall_seconds;  // [s] from start to end of the program
  // [1] Part of this machine's CPU time that other programs used while the program ran.
  std::optional<double> others_share;
  std::string version, runtime, isa_words;
  std::optional<int> threads;
  logs::LineCounts lines;
  double seconds = 0;                     // [s] sum of all executions in the log
  std::optional<double> covered_seconds;  // [s] wall time in which calls ran, if stamped
  double creation_hits = 0, creation_misses = 0, creation_seconds = 0;  // [1], [1], [s]
  std::vector<ProgramProcess> processes;                                // in order of appearance
  std::vector<ProgramPrimitive> primitives;                             // in order of appearance
  ProgramSteps steps;
  std::optional<TracedProgram> traced;  // set if torch.profiler recorded a part of the program

  // Returns the primitive's time [s] in a step, or in the log without steps.
  double SecondsOf(const ProgramPrimitive& primitive) const {
    return steps.count > 0 ? primitive.step_seconds : primitive.seconds;
  }
};

// Returns a log's summary with its steps. The caller sets `log`, `command`, `wall_seconds`, and the
// primitives' `record`, `benchmark` and `repro`.
ProgramSummary SummarizeProgram(const logs::VerboseLog& log, const Steps& steps);

// Sets the steps' wall times from `walls` [s] (of the steps whose time is known), and the main
// process's mean calls, times and creations per step, over `count` steps. `in_step` returns whether
// a call is in one of these steps, from its begin [s] and its index among the executions.
using InStep = std::function<bool(const std::optional<double>& begin, std::size_t place)>;
void SetStepMeans(const logs::VerboseLog& log, const Timeline& timeline, std::vector<double> walls,
                  std::size_t count, const InStep& in_step, ProgramSummary& summary);

// Returns the number of first steps whose wall times [s] (0: unknown) are more than 1.5 times the
// median: the warm-up. Leaves at least two steps.
std::size_t WarmUpSteps(const std::vector<double>& walls);

// Returns the index of the range [first, second) with `place`. Ranges must ascend without overlap.
template <class Place>
std::optional<std::size_t> RangeWith(const std::vector<std::pair<Place, Place>>& ranges,
                                     Place place) {
  const auto after = std::ranges::upper_bound(ranges, place, {}, &std::pair<Place, Place>::first);
  if (after == ranges.begin() || !(place < std::prev(after)->second)) return std::nullopt;
  return static_cast<std::size_t>(after - ranges.begin()) - 1;
}

// Returns whether the operators are part of the program's time breakdown.
inline bool HasOperators(const std::optional<TracedProgram>& traced) {
  return traced && !traced->of_no_step;
}

nlohmann::json ToJson(const ProgramSummary& summary);
// Reads context.dlroof.program; nullopt if it is absent. Ignores members of unexpected types.
std::optional<ProgramSummary> ProgramOf(const nlohmann::json& context);

struct OperatorTime {
  std::size_t op = 0;        // index into Trace::ops
  double seconds = 0;        // [s] self time in the ranges, without oneDNN's primitives
  std::vector<double> each;  // [s] by call that began in the ranges, in order
  // At least half of these calls ran oneDNN's primitives, whose records have the FLOPs.
  bool by_onednn = false;
};

// The time of some ranges, divided. Each moment counts once: for oneDNN if a primitive runs, else
// for the innermost operators of all threads (in equal parts), else for dlroof's hooks on PyTorch
// modules, else for the program itself.
struct DividedTime {
  double seconds = 0;                     // [s] of the ranges, without the hooks' time
  double hook_seconds = 0;                // [s] in which only dlroof's hooks ran
  double onednn_seconds = 0;              // [s] in which a primitive ran or was created
  double onednn_in_operator_seconds = 0;  // [s] part of onednn_seconds within an operator
  double operator_seconds = 0;            // [s] in operators, without oneDNN
  std::vector<OperatorTime> operators;    // the longest first
  std::vector<ModuleTime> modules;        // the longest first
};

// Divides the time of `ranges` (ascending, disjoint) among the operators of trace.calls and
// oneDNN's executions and creations (`primitives`, in any order, on the same clock).
DividedTime DivideTime(const imports::Trace& trace, const std::vector<TimeRange>& primitives,
                       const std::vector<TimeRange>& ranges);

// Returns the times of the main process's executions and creations that have time stamps.
std::vector<TimeRange> PrimitiveRanges(const logs::VerboseLog& log);

// Returns the steps of the outermost module with the most calls. A step is the time from the begin
// of a call to the begin of the next one.
std::vector<TimeRange> ModelSteps(const imports::Trace& trace);

// The prefix of the names of modules' spans (torch_hook/sitecustomize.py).
inline constexpr const char* kModuleSpan = "dlroof: ";
// Returns ModuleTime::path, e.g. "Bert.layers.*.f1" for "dlroof: Bert.layers.3.f1".
std::string ModulePath(std::string_view span);
// The name of spans in which dlroof's hooks of modules run; their time is not the program's.
inline constexpr const char* kHookSpan = "dlroof hook";

// Adds PyTorch's operators to the time breakdown of a step: appends an entry per operator (one for
// all below 0.1 %) to summary.primitives, and sets summary.traced. The steps are
//   - the log's `steps` that the trace contains completely; if the log has steps with wall times,
//     but the trace contains none of them, adds no operators;
//   - else, if the log has no steps, ModelSteps without the warm-up, if at least two are left;
//   - else the whole trace, as one step.
// Operator times are scaled to the step's time outside oneDNN, because the profiler slows down the
// steps that it records. Returns the operators that have an entry of their own.
std::vector<OperatorTime> AddOperators(const imports::Trace& trace, const logs::VerboseLog& log,
                                       const Steps& steps, ProgramSummary& summary);

}  // namespace dlroof::programs
