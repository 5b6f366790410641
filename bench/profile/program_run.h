// The run file of a program: oneDNN's log, and what else is known of the program.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/programs/outside.h"
#include "ceilings/machine/machine.h"
#include "reporters/imports/trace.h"
#include "reporters/record/run_file.h"

namespace dlroof::profile {

// Facts about the program that its log does not contain. Unknown facts are absent.
struct ProgramFacts {
  std::optional<std::string> command;
  std::optional<double> wall_seconds;             // [s] from the program's start to its end
  std::optional<int> threads;                     // of its library; replaces the log's number
  std::optional<int> steps;                       // [1] equal steps; replaces the detected number
  std::optional<double> line_seconds;             // [s] see ProgramSummary
  std::vector<programs::CpuSample> cpu_samples;   // while it ran; may be empty
  const imports::Trace* trace = nullptr;          // of torch.profiler, with calls; null: none
  std::vector<programs::TimeRange> windows = {};  // [s] in which torch.profiler ran
};

// Returns whether the text has a line of oneDNN's verbose mode near its beginning.
bool LooksLikeOneDnnLog(std::string_view text);

// Returns a run file with a record for each distinct primitive of the log, and a summary of the
// program under context.dlroof.program (see baselines/programs/program_report.h). Warns if
// `machine` has no ceilings for a thread count. Throws BadInput for a log without an executed
// primitive, unless there is a trace.
record::RunFile ProgramRun(const std::string& log_path, const ProgramFacts& facts,
                           const std::optional<machine::Machine>& machine, std::ostream& warnings);

}  // namespace dlroof::profile
