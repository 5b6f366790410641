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

#include "baselines/programs/program_report.h"
#include "bench/profile/foreground.h"
#include "bench/profile/log_separator.h"
#include "ceilings/machine/machine.h"
#include "counters/base/keys.h"
#include "reporters/record/run_file.h"

namespace dlroof::profile {

// Facts about the program that the log lacks, if they are known.
struct ProgramFacts {
  std::optional<std::string> command;
  std::optional<double> wall_seconds;  // [s] from the program's start to its end
  std::optional<int> threads;          // of its library, instead of the log's number
  std::optional<int> steps;            // equal steps of the program, instead of the detected ones
};

// Returns whether the text has a line of oneDNN's verbose mode near its beginning.
bool LooksLikeOneDnnLog(std::string_view text);

// Returns a run file with a record for each distinct primitive of the log, and a summary of the
// program under context.dlroof.program (see baselines/programs/program_report.h). Writes a warning
// for thread counts without ceilings. Throws BadInput for a log that cannot be read or has no
// executed primitive.
record::RunFile ProgramRun(const std::string& log_path, const ProgramFacts& facts,
                           const std::optional<machine::Machine>& machine, std::ostream& warnings);

// The environment that turns oneDNN's verbose mode on.
struct VerboseMode {
  Variables variables;
  std::optional<std::string> remark;  // a sentence if the user's settings remain in effect
};

// Returns the variables that make oneDNN (2.x and 3.x, and 1.x by its older names) write a line
// with a time stamp for each primitive that it creates or executes. Does not override variables
// that the user has set.
VerboseMode VerboseModeOn();

struct VerboseRequest {
  std::vector<std::string> command;
  Variables variables;
  bool shown = true;                 // connect the program to this process's input and output
  bool keep_own = false;             // return the program's output in VerboseRun::own
  std::optional<std::string> log;    // file for oneDNN's lines, written while the program runs
  std::ostream* progress = nullptr;  // receives a progress line now and then; may be null
};

// A verbose run of a program.
struct VerboseRun {
  ForegroundEnd end;
  std::uint64_t own_bytes = 0;              // [byte] of the program's own output
  std::uint64_t own_hash = kHashOfNothing;  // of the program's own output
  std::string own;                          // the program's own output, if requested
  std::uint64_t log_bytes = 0;              // [byte] of oneDNN's lines
  std::size_t lines = 0, executed = 0, cut_lines = 0, versions = 0;  // see LogSeparator
};

// Throws CannotStart, and BadInput if the log cannot be written.
VerboseRun RunVerbose(const VerboseRequest& request);

struct ProfileRequest {
  std::vector<std::string> command;
  std::string output = "profile.json";
  std::optional<std::string> log;      // file for oneDNN's lines
  std::optional<std::string> machine;  // machine file or name, or "none"; else this CPU's ceilings
  std::optional<int> threads, steps;   // see ProgramFacts
  std::optional<int> overhead_turns;   // [1] further runs without oneDNN's lines, to compare with
  std::optional<std::string> read;     // pattern of the number to compare, instead of wall time
  // Called with the run file before it is written. May be empty.
  std::function<void(record::RunFile& run, std::ostream& messages)> complete = {};
};

// Runs the program, passes its output on unchanged, writes the run file and the log, and reports to
// `messages`. Returns the program's exit code: 128 + the signal that ended it, 127 if there is no
// such program, 126 if it cannot be executed. Throws BadInput before the program starts if the
// machine or the pattern cannot be used. Later failures are reported to `messages`.
int ProfileProgram(const ProfileRequest& request, std::ostream& messages);

// Runs the program without showing its output, and returns the breakdown of a step, or of the whole
// program if it has no steps. Without roofs, the primitives' time is one component. Returns nothing
// if the program fails, is interrupted, or executes no primitive of oneDNN. Throws CannotStart.
std::optional<programs::ProgramBreakdown> RunForBreakdown(const std::vector<std::string>& command);

}  // namespace dlroof::profile
