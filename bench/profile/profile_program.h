// A program's log of oneDNN as a run file: its primitives placed on a machine's roofs.
//
// One run of a program, with or without oneDNN's lines.
//
// dlroof profile: runs a program with oneDNN inside, and reports what its log says.
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

// Facts about the program that the log does not have.
struct ProgramFacts {
  std::string command;                 // as it was typed; empty: unknown
  std::optional<double> wall_seconds;  // [s] from the program's start to its end; absent: unknown
  std::optional<int> threads;          // of its library; absent: as the log says
  std::optional<int> steps;            // into which the program is divided; absent: they are found
};

// Returns true for a text that has a line of oneDNN's verbose mode near its beginning.
bool LooksLikeOneDnnLog(std::string_view text);

// Returns a run file of the log's distinct primitives: a record each, and what the log says of the
// whole program under context.dlroof.program, which baselines/programs/program_report.h shows.
// `warnings` gets a sentence for threads without ceilings. Throws BadInput for a log that cannot be
// read, and for one without an executed primitive.
record::RunFile ProgramRun(const std::string& log_path, const ProgramFacts& facts,
                           const std::optional<machine::Machine>& machine, std::ostream& warnings);

// Variables that make oneDNN (2.x and 3.x, and 1.x under its older name) write a line with a time
// stamp for each primitive that it makes or executes. Values that the user has set stay:
// `remark` says so, and is empty otherwise.
Variables SpeakingVariables(std::string& remark);

struct VerboseRequest {
  std::vector<std::string> command;
  Variables variables;
  bool shown = true;      // its output goes to ours, and our input to it
  bool keep_own = false;  // `own` is wanted
  std::string log;        // path; gets each line as it comes
  // Gets a line now and then while the program runs; null: none.
  std::ostream* progress = nullptr;
};

struct VerboseRun {
  ForegroundEnd end;
  std::uint64_t own_bytes = 0;              // [byte] of the program's own output
  std::uint64_t own_hash = kHashOfNothing;  // of it
  std::string own;                          // where it was asked for
  std::uint64_t log_bytes = 0;              // [byte]
  std::size_t lines = 0, executed = 0, cut_lines = 0, versions = 0;  // as LogSeparator has them
};

// Throws CannotStart, and BadInput where the log cannot be written.
VerboseRun RunVerbose(const VerboseRequest& request);

struct ProfileRequest {
  std::vector<std::string> command;
  std::string output = "profile.json";
  std::string log;             // path of the separated lines of oneDNN; empty: they are not kept
  std::string machine;         // file or name of the roofs; empty: cached, or measured now; "none"
  std::optional<int> threads;  // [1] of the program's library; absent: as its log says
  std::optional<int> steps;    // [1] into which the program is divided; absent: they are found
  int overhead_turns = 0;      // [1] runs without oneDNN's lines, to compare with
  std::string read;            // --read: the number in the output that these compare; empty: time
  // Called with the run file before it is written; empty: nothing is.
  std::function<void(record::RunFile& run, std::ostream& messages)> complete = {};
};

// Runs the program, passes its output on unchanged, writes the run file and `log`, and reports to
// `messages`. Returns the program's exit code: 128 + the signal that ended it, 127 where there is
// no such program and 126 where it cannot be executed. Throws BadInput before the program starts:
// the machine or the pattern cannot be used. Later failures are sentences in
// `messages`.
int ProfileProgram(const ProfileRequest& request, std::ostream& messages);

// Runs the program with oneDNN's lines, which it does not show, and returns where the time of a
// step (of the whole program, where it has none) goes. Without a machine's roofs the primitives'
// time is one part. Absent: the program fails, is interrupted, or executes no primitive of oneDNN.
// Throws CannotStart.
std::optional<programs::ProgramBreakdown> RunForBreakdown(const std::vector<std::string>& command);

}  // namespace dlroof::profile
