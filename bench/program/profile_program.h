// dlroof profile: runs a program with oneDNN inside, and reports what its log says.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "reporters/program/program_ledger.h"
#include "reporters/record/run_file.h"

namespace dlroof::profile {

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
std::optional<programs::ProgramLedger> RunForLedger(const std::vector<std::string>& command);

}  // namespace dlroof::profile
