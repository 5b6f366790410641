// dlroof profile: runs a program that uses oneDNN, converts its oneDNN log to a run file, and
// reports its primitives on a machine's roofs.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/programs/outside.h"
#include "baselines/programs/program_report.h"
#include "bench/profile/foreground.h"
#include "bench/profile/log_separator.h"
#include "ceilings/machine/machine.h"
#include "counters/base/keys.h"
#include "reporters/imports/trace.h"
#include "reporters/record/run_file.h"

namespace dlroof::profile {

// Facts about the program that its log does not contain. Unknown facts are absent.
struct ProgramFacts {
  std::optional<std::string> command;
  std::optional<double> wall_seconds;            // [s] from the program's start to its end
  std::optional<int> threads;                    // of its library; replaces the log's number
  std::optional<int> steps;                      // [1] equal steps; replaces the detected number
  std::optional<double> line_seconds;            // [s] see ProgramSummary
  std::vector<programs::CpuSample> cpu_samples;  // while it ran; may be empty
  const imports::Trace* trace = nullptr;         // of torch.profiler, with calls; null: none
};

// Returns whether the text has a line of oneDNN's verbose mode near its beginning.
bool LooksLikeOneDnnLog(std::string_view text);

// Returns a run file with a record for each distinct primitive of the log, and a summary of the
// program under context.dlroof.program (see baselines/programs/program_report.h). Warns if
// `machine` has no ceilings for a thread count. Throws BadInput for a log without an executed
// primitive, unless there is a trace.
record::RunFile ProgramRun(const std::string& log_path, const ProgramFacts& facts,
                           const std::optional<machine::Machine>& machine, std::ostream& warnings);

// The environment variables that turn on oneDNN's verbose mode.
struct VerboseMode {
  Variables variables;
  std::optional<std::string> remark;  // a sentence, if the user's own variables stay in effect
};

// Returns variables that make oneDNN (1.x by its older names, 2.x, 3.x) write a line with a time
// stamp for each executed primitive, and with `creations` for each created one, but no others.
// Keeps the variables that the user has set.
VerboseMode VerboseModeOn(bool creations = false);

struct VerboseRequest {
  std::vector<std::string> command;
  Variables variables;
  bool shown = true;                 // connect the program to this process's input and output
  bool keep_own = false;             // store the program's output in VerboseRun::own
  std::optional<std::string> log;    // file for oneDNN's lines, written while the program runs
  std::ostream* progress = nullptr;  // receives progress lines; may be null
  bool pipe = false;                 // see ForegroundRequest
  std::optional<double> most_seconds = {};
  bool sampled = false;  // sample the program's use of the CPUs
};

// The result of running a program in oneDNN's verbose mode.
struct VerboseRun {
  ForegroundEnd end;
  std::uint64_t own_bytes = 0;               // [byte] of the program's own output
  std::uint64_t own_hash = kHashOfNothing;   // of the program's own output
  std::string own;                           // the program's own output, if requested
  std::uint64_t log_bytes = 0;               // [byte] of oneDNN's lines
  std::vector<programs::CpuSample> samples;  // if requested
  std::size_t lines = 0, executed = 0, cut_lines = 0, versions = 0;  // see LogSeparator
};

// Runs the program. Throws CannotStart, and BadInput if the log cannot be written.
VerboseRun RunVerbose(const VerboseRequest& request);

struct ProfileRequest {
  std::vector<std::string> command;
  std::string output = "profile.json";
  std::optional<std::string> log;      // file for oneDNN's lines
  std::optional<std::string> machine;  // file, name or "none"; absent: this CPU's ceilings
  std::optional<int> threads, steps;   // see ProgramFacts
  bool creations = false;              // lines for created primitives, too
  bool pipe = false;                   // see ForegroundRequest
  std::optional<double> most_seconds;  // [s] then the program is ended
  std::optional<int> overhead_turns;   // [1] further runs without verbose mode, to compare
  std::optional<std::string> read;     // pattern of the number to compare; absent: wall time
  bool torch = false;                  // run torch.profiler in it (torch_trace.h)
  // Called to add to the run file before it is written. May be empty.
  std::function<void(record::RunFile& run, std::ostream& messages)> complete = {};
};

// Runs the program, passes its output on unchanged, writes the run file and the log, and reports to
// `messages`. Returns the program's exit code, 128 plus the signal that ended the program, 127 if
// there is no such program, or 126 if it cannot be executed. Throws BadInput before the program
// starts if the machine or the pattern is invalid. Reports later failures to `messages`.
int ProfileProgram(const ProfileRequest& request, std::ostream& messages);

// Runs the program without showing its output. Returns the time breakdown of one step, or of the
// whole program if it has no steps. Without roofs, the time of all primitives is one component.
// Returns nothing if the program fails, is interrupted, or runs no primitive. Throws CannotStart.
std::optional<programs::ProgramBreakdown> RunForBreakdown(const std::vector<std::string>& command);

}  // namespace dlroof::profile
