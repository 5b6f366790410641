// dlroof profile: runs a program that uses oneDNN, converts its oneDNN log to a run file, and
// reports its primitives on a machine's roofs.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "reporters/record/run_file.h"

namespace dlroof::profile {

struct ProfileRequest {
  std::vector<std::string> command;
  std::string output = "profile.json";
  std::optional<std::string> log;      // file for oneDNN's lines
  std::optional<std::string> machine;  // file, name or "none"; absent: this CPU's ceilings
  std::optional<int> threads, steps;   // see ProgramFacts
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

}  // namespace dlroof::profile
