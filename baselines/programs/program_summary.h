// Facts about a program from its oneDNN log, in addition to the records of its primitives: the
// content of context.dlroof.program of a run file. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "baselines/programs/outside.h"
#include "baselines/programs/steps.h"
#include "counters/base/error.h"
#include "reporters/logs/primitive.h"
#include "reporters/logs/primitive_work.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::programs {

// [s] Quantiles of the time of one call, over all calls of a primitive.
struct CallTimes {
  double least = 0, lower_quarter = 0, median = 0, upper_quarter = 0, most = 0;
};

// The time of a primitive's call standalone under a condition that might explain why its calls in
// the program take longer.
struct StandaloneCheck {
  std::string condition;  // as it stands in a sentence: "beside a busy CPU"
  double seconds = 0;     // [s] median
};

// The times of a primitive's call standalone (replayed by dlroof_bench) and in the program.
struct StandaloneTime {
  double seconds = 0;                             // [s] median, standalone, with warm caches
  std::optional<std::pair<double, double>> ci95;  // [s]
  bool noisy = false;                             // `seconds` is an estimate
  std::optional<double> cold_seconds;             // [s] median, standalone, with cold caches
  std::vector<StandaloneCheck> checks;            // only if cold caches do not explain the ratio
  double program_seconds = 0;                     // [s] median of the program's calls
  std::optional<std::pair<double, double>> program_ci95;  // [s]
  double ratio = 0;                                       // [1] program_seconds / seconds
  std::optional<std::pair<double, double>> ratio_ci95;    // [1]
  std::string implementation;                             // chosen by the library standalone
};

struct ProgramPrimitive {
  std::string record;        // name of its record
  bool is_operator = false;  // not oneDNN's: an operator of PyTorch, with its time outside oneDNN
  logs::PrimitiveText text;
  double calls = 0;    // [1] in the log
  double seconds = 0;  // [s] of all its calls
  CallTimes times;
  bool moves_data = false;             // zero FLOPs
  std::optional<Reason> work_unknown;  // set if its FLOPs or bytes are not known
  double step_calls = 0;               // [1] in a steady step, on average
  double step_seconds = 0;             // [s] of wall time in a steady step (steps.h), on average
  std::string benchmark;               // name of dlroof's benchmark with the same call, or ""
  std::string repro;                   // arguments of benchdnn for the same call, or ""
  std::optional<StandaloneTime> standalone;  // set if it was replayed
  std::optional<Reason> not_replayed;        // reason, if a replay was requested but has no time
};

// A phase of a step: "forward", "backward", "update".
struct ProgramPhase {
  std::string name;
  double calls = 0;                    // [1] on average
  double seconds = 0;                  // [s] of its primitives, on average
  std::optional<double> wall_seconds;  // [s] on average; needs time stamps
};

struct ProgramSteps {
  StepsFrom from = StepsFrom::kNone;
  std::optional<Reason> reason;  // set if there are no steps
  int count = 0;                 // [1] steps after the warm-up
  double primitives = 0;         // [1] per step, on average
  double warm_up_calls = 0;      // [1] primitives before the first step
  double warm_up_seconds = 0;    // [s] of these warm-up calls
  int warm_up_steps = 0;         // [1] first steps that are much slower than the median
  int outliers = 0;              // [1] later steps whose wall time is far from the median
  // Wall times of the `timed` steps, whose begin and end have time stamps, without outliers. All
  // means and sums of a step are over these.
  int timed = 0;                                                  // [1]
  std::optional<double> wall_seconds;                             // [s] mean
  std::optional<double> median_low_seconds, median_high_seconds;  // [s] 95 %; from 6 steps on
  std::optional<double> least_wall_seconds, median_wall_seconds, most_wall_seconds;  // [s]
  double creation_seconds = 0;                    // [s] of wall time per step, on average
  double creation_hits = 0, creation_misses = 0;  // [1] per step, on average
  std::vector<ProgramPhase> phases;               // empty if no call is backward
};

// A process that executed primitives.
struct ProgramProcess {
  std::int64_t id = 0;  // 0: the log does not name its processes
  bool main = false;    // its calls are the steps
  double calls = 0;     // [1]
  double seconds = 0;   // [s] of all its calls
  int threads = 0;      // [1] largest number of calls at the same time; 0 without time stamps
};

struct ProgramSummary {
  std::string log, command;            // as specified by the user; the command may be empty
  std::optional<double> wall_seconds;  // [s] of the program
  std::string version, runtime, isa_words;
  std::optional<int> threads;
  logs::LineCounts lines;
  double seconds = 0;                     // [s] sum of all executions in the log
  std::optional<double> covered_seconds;  // [s] wall time with any call running; needs time stamps
  double creation_hits = 0, creation_misses = 0, creation_seconds = 0;  // [1], [1], [s]
  // [s] Time that a line of oneDNN takes the program, measured by writing such lines.
  std::optional<double> line_seconds;
  std::vector<ProgramProcess> processes;     // in order of appearance
  std::vector<ProgramPrimitive> primitives;  // in order of appearance
  std::string standalone_version;            // of the replay's oneDNN; "" without a replay
  ProgramSteps steps;
  std::optional<TracedProgram> traced;        // set if torch.profiler saw some of it
  std::optional<OutsideTimes> outside_times;  // of a step, or of the program without steps
};

// Returns the quantiles of at least one call [s].
CallTimes TimesOf(std::vector<double> seconds);

// Returns a log's summary with its steps. The caller sets `log`, `command`, `wall_seconds`, and the
// primitives' `record`, `benchmark` and `repro`.
ProgramSummary SummarizeProgram(const logs::VerboseLog& log, const Steps& steps);

nlohmann::json ToJson(const ProgramSummary& summary);
// Reads context.dlroof.program, if it exists. Ignores JSON members with an unexpected type.
std::optional<ProgramSummary> ProgramOf(const nlohmann::json& context);

}  // namespace dlroof::programs
