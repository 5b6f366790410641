// Runs a program in oneDNN's verbose mode, and takes oneDNN's lines out of its output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/profile/foreground.h"

namespace dlroof::profile {

// oneDNN and the program both write to standard output, so a line of oneDNN may begin in the middle
// of a line of the program, which continues after it. A line of oneDNN begins with a marker
// (onednn_verbose or dnnl_verbose), a comma and one of the words that oneDNN writes
// there, and ends with a newline. All other bytes belong to the program.
//
// A line of the program that begins with DLROOF_MARK (verbose_log.h) stays in the program's output
// and is copied to the log, where its position shows between which calls it was written.
//
// A line in which another marker occurs was interrupted by another process's: it is cut, and what
// follows the other line is the program's.
class LogSeparator {
 public:
  struct Output {
    std::string own;  // the program's bytes
    std::string log;  // complete lines of oneDNN
  };

  // Returns the bytes whose origin is certain. Stores bytes that may be the beginning of a line of
  // oneDNN until more bytes arrive.
  Output Add(std::string_view bytes);
  // Returns the bytes that Add has stored as the program's output, unless a line of oneDNN has
  // begun. Call it when the program pauses, so that a prompt that looks like a marker is shown.
  Output Release();
  // Returns all stored bytes at the end. Ends an incomplete line of oneDNN with a newline.
  Output End();

  std::size_t lines() const { return lines_; }          // [1] complete lines of oneDNN
  std::size_t executed() const { return executed_; }    // [1] lines of executed primitives
  std::size_t cut_lines() const { return cut_lines_; }  // [1] lines without their end
  // [1] lines with oneDNN's version. Each process except a forked one writes one such line.
  std::size_t versions() const { return versions_; }

 private:
  void Drain(Output& output);
  void TakeOwn(std::string_view bytes, Output& output);
  bool DrainOwn(Output& output);
  bool DrainLine(Output& output);
  void BeginLine(std::size_t marker);
  void EndLine(Output& output);
  std::string_view Rest() const { return std::string_view(held_).substr(at_); }

  bool in_line_ = false;  // of oneDNN
  std::string held_;      // received bytes; those from at_ on are not yet assigned
  std::size_t at_ = 0;    // position in held_
  std::string line_;      // the current line of oneDNN so far
  std::string own_line_;  // the beginning of the program's current line
  std::size_t lines_ = 0, executed_ = 0, cut_lines_ = 0, versions_ = 0;
};

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
  std::optional<std::string> log;    // file for oneDNN's lines, written while the program runs
  std::ostream* progress = nullptr;  // receives progress lines; may be null
  bool pipe = false;                 // see ForegroundRequest
  std::optional<double> most_seconds = {};
};

// The result of running a program in oneDNN's verbose mode.
struct VerboseRun {
  ForegroundEnd end;
  std::uint64_t own_bytes = 0;  // [byte] of the program's own output
  std::uint64_t log_bytes = 0;  // [byte] of oneDNN's lines
  std::size_t lines = 0, executed = 0, cut_lines = 0, versions = 0;  // see LogSeparator
};

// Runs the program. Throws CannotStart, and BadInput if the log cannot be written.
VerboseRun RunVerbose(const VerboseRequest& request);

}  // namespace dlroof::profile
