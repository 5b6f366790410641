// Facts about a program that its log of oneDNN tells, beside the records of its primitives: what
// context.dlroof.program of a run file holds. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "baselines/programs/steps.h"
#include "reporters/verbose/primitive.h"
#include "reporters/verbose/primitive_work.h"
#include "reporters/verbose/verbose_log.h"

namespace dlroof::programs {

// Times of one call of a primitive, over its calls. All [s].
struct CallTimes {
  double least = 0, lower_quarter = 0, median = 0, upper_quarter = 0, most = 0;
};

// The same call alone, in a process of dlroof_bench, beside the program's calls.
struct StandaloneTime {
  double seconds = 0;                                     // [s] median, its data in the caches
  std::optional<std::pair<double, double>> ci95;          // [s]
  bool noisy = false;                                     // an estimate
  std::optional<double> cold_seconds;                     // [s] median, its data in no cache
  double program_seconds = 0;                             // [s] median of the program's calls
  std::optional<std::pair<double, double>> program_ci95;  // [s]
  double ratio = 0;                                       // [1] program_seconds over seconds
  std::optional<std::pair<double, double>> ratio_ci95;    // [1]
  std::string implementation;                             // that the library chose alone
};

struct ProgramPrimitive {
  std::string record;  // name of its record
  verbose::PrimitiveText text;
  double calls = 0;    // [1] in the log
  double seconds = 0;  // [s] of these together
  CallTimes times;
  bool moves_data = false;       // its FLOPs are known to be 0
  std::string work_unknown;      // why FLOPs or bytes are not known; empty: they are
  double step_calls = 0;    // [1] in a steady step, on average
  double step_seconds = 0;  // [s] of the clock that they take of it (steps.h), on average
  std::string benchmark;    // of this program for the same call; empty: none
  std::string repro;        // arguments of benchdnn for the same call; empty: none
  std::optional<StandaloneTime> alone;  // absent: not replayed
  std::string not_replayed;           // why its replay has no time; empty: none was asked for
};

// A part of a step: "forward", "backward", "update".
struct ProgramPhase {
  std::string name;
  double calls = 0;                    // [1] on average
  double seconds = 0;                  // [s] of its primitives, on average
  std::optional<double> wall_seconds;  // [s] on average; absent: without time stamps
};

struct ProgramSteps {
  StepsFrom from = StepsFrom::kNone;
  std::string reason;          // without steps: why
  int count = 0;               // [1] steady ones
  int irregular = 0;           // [1] between them
  double primitives = 0;       // [1] of a step, on average
  double warm_up_calls = 0;    // [1] primitives before the first steady step
  double warm_up_seconds = 0;  // [s] of these
  // These are of the steps whose begin and end the clock tells; absent where there is none.
  int timed = 0;                                                                     // [1]
  std::optional<double> wall_seconds;                                                // [s] mean
  std::optional<double> least_wall_seconds, median_wall_seconds, most_wall_seconds;  // [s]
  double creation_seconds = 0;                    // [s] of the clock in a step, on average
  double creation_hits = 0, creation_misses = 0;  // [1] in a step, on average
  std::vector<ProgramPhase> phases;               // with a backward call alone
};

struct ProgramSummary {
  std::string log, command;            // as they were given; the command may be empty
  std::optional<double> wall_seconds;  // [s] of the program; absent: unknown
  std::string version, runtime, isa_words;
  std::optional<int> threads;
  verbose::LineCounts lines;
  double seconds = 0;                     // [s] of all executions that were used
  std::optional<double> covered_seconds;  // [s] of the clock in which any runs; absent: no stamps
  double creation_hits = 0, creation_misses = 0, creation_seconds = 0;  // [1], [1], [s]
  std::vector<ProgramPrimitive> primitives;                             // in order of appearance
  std::string standalone_version;  // of the oneDNN of its replay; empty: no replay
  ProgramSteps steps;
};

// Leaves `log`, `command`, `wall_seconds`, and the primitives' `record`, `benchmark` and `repro` to
// the caller. `steps`: how many the program has, where somebody knows it.
ProgramSummary SummarizeProgram(const verbose::VerboseLog& log, std::optional<int> steps);

nlohmann::json ToJson(const ProgramSummary& summary);
// Reads context.dlroof.program; absent: the file is no program's. Members of another type are left
// out.
std::optional<ProgramSummary> ProgramOf(const nlohmann::json& context);

}  // namespace dlroof::programs
