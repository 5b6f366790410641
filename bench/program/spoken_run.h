// One run of a program, with or without oneDNN's lines.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "bench/program/foreground.h"
#include "bench/program/log_separator.h"
#include "counters/base/text_hash.h"

namespace dlroof::profile {

// Variables that make oneDNN (2.x and 3.x, and 1.x under its older name) write a line with a time
// stamp for each primitive that it makes or executes. Values that the user has set stay:
// `remark` says so, and is empty otherwise.
Variables SpeakingVariables(std::string& remark);

struct SpokenRequest {
  std::vector<std::string> command;
  Variables variables;
  bool shown = true;      // its output goes to ours, and our input to it
  bool keep_own = false;  // `own` is wanted
  std::string log;        // path; gets each line as it comes
  // Gets a line now and then while the program runs; null: none.
  std::ostream* progress = nullptr;
};

struct SpokenRun {
  ForegroundEnd end;
  std::uint64_t own_bytes = 0;              // [byte] of the program's own output
  std::uint64_t own_hash = kHashOfNothing;  // of it
  std::string own;                          // where it was asked for
  std::uint64_t log_bytes = 0;              // [byte]
  std::size_t lines = 0, executed = 0, cut_lines = 0, versions = 0;  // as LogSeparator has them
};

// Throws CannotStart, and BadInput where the log cannot be written.
SpokenRun RunSpoken(const SpokenRequest& request);

}  // namespace dlroof::profile
