// Runs a program in oneDNN's verbose mode, and takes oneDNN's lines out of its output.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "baselines/programs/outside.h"
#include "bench/profile/foreground.h"
#include "bench/profile/log_separator.h"
#include "counters/base/keys.h"

namespace dlroof::profile {

// The environment variables that turn on oneDNN's verbose mode.
struct VerboseMode {
  Variables variables;
  std::optional<std::string> remark;  // a sentence, if the user's own variables stay in effect
};

// Returns variables that make oneDNN (1.x by its older names, 2.x, 3.x) write a line with a time
// stamp for each executed primitive, and no others. Keeps the variables that the user has set.
VerboseMode VerboseModeOn();

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

}  // namespace dlroof::profile
