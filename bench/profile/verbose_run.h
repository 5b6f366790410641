// Runs a program in oneDNN's verbose mode and separates oneDNN's lines from its output.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/process.h"
#include "reporters/text/text.h"

namespace dlroof::profile {

// The program inherits standard input and error. Its standard output is a socket, by which the
// kernel reports the writing process (SCM_CREDENTIALS), or, if this process writes to a terminal, a
// pseudo-terminal of the same size in raw mode.
struct ForegroundRequest {
  std::vector<std::string> command;
  Variables variables = {};  // added to this process's environment
  // [s] After this time the program gets SIGTERM, 10 s later SIGKILL. Absent: never.
  std::optional<double> most_seconds = {};
  double rest_seconds = 10;  // [s] how long to read output of its children after its end
  bool pipe = false;         // use a pipe instead of a socket, for programs that open /dev/stdout
  // Called before `take` if the writing process changes. Only for sockets. May be empty.
  std::function<void(std::int64_t process)> from = {};
  // Receives the program's output in order. If it returns false (no reader is left), the program's
  // standard output is closed, as that of a pipe without a reader.
  std::function<bool(std::string_view bytes)> take = {};
  // Called with the time since the start [s] while the program writes nothing: after 20 ms, then
  // every half second. Returns false like `take`. May be empty.
  std::function<bool(double seconds)> idle = {};
};

struct ForegroundEnd {
  ProcessEnd end;
  int pid = 0;                       // process id that the program had
  double wall_seconds = 0;           // [s] from start to end of the program
  bool names_processes = false;      // the output was a socket
  bool left_open = false;            // a process had it open after rest_seconds
  std::optional<int> passed_signal;  // last signal that reached the program
  bool out_of_time = false;          // ended because of most_seconds
};

// Runs the program to its end. Passes on SIGINT, SIGTERM, SIGHUP and SIGQUIT from other processes;
// those from the terminal reach the program directly. None of them ends this process before the
// program. Throws CannotStart.
ForegroundEnd RunInForeground(const ForegroundRequest& request);

// Writes all bytes to standard output. Returns false if it has no reader.
bool WriteToStdout(std::string_view bytes);

// Return a shell's exit code: the program's or 128 + its signal, but 0 if it was ended because of
// most_seconds; 127: not found, 126: cannot start.
int ExitCodeOf(const ForegroundEnd& end);
int ExitCodeOf(const CannotStart& cannot);

// Returns the columns of the terminal on standard error; 0 if it is not a terminal.
int MessageColumns();

// Writes a line "dlroof: SENTENCE". Replaces control characters.
template <class... Values>
void Say(std::ostream& messages, fmt::format_string<Values...> sentence, Values&&... values) {
  messages << "dlroof: " << text::Printable(fmt::format(sentence, std::forward<Values>(values)...))
           << '\n';
}

// Separates oneDNN's lines from the program's output. Both go to standard output, so a line of
// oneDNN may interrupt a line of the program, whose rest follows. A line of oneDNN begins with a
// marker (onednn_verbose or dnnl_verbose), a comma and one of oneDNN's keywords, a version or a
// time stamp, and ends with a newline. All other bytes are the program's.
//
// A program's line that begins with DLROOF_MARK (logs::StepMark) stays in the output and is copied
// to the log, where its position shows between which calls the program wrote it.
//
// If a line of oneDNN contains a second marker, another process's line has interrupted it: the
// first line ends there (it is cut), and text after the second line belongs to the program.
class LogSeparator {
 public:
  struct Output {
    std::string own;  // the program's bytes
    std::string log;  // complete lines of oneDNN
  };

  // Adds received bytes. Returns all bytes that can be attributed, and keeps bytes at the end that
  // may begin a line of oneDNN.
  Output Add(std::string_view bytes);
  // Returns the kept bytes as the program's output, unless a line of oneDNN has begun. Call when
  // the program pauses, so that a prompt resembling a marker is shown.
  Output Release();
  // Returns all kept bytes at the end. Terminates an incomplete line of oneDNN with a newline.
  Output End();

  std::size_t lines() const { return lines_; }          // [1] complete lines of oneDNN
  std::size_t executed() const { return executed_; }    // [1] lines about executed primitives
  std::size_t cut_lines() const { return cut_lines_; }  // [1] lines that were cut
  // [1] lines with oneDNN's version: one per process, except forked ones.
  std::size_t versions() const { return versions_; }

 private:
  void Drain(Output& output);
  void TakeOwn(std::string_view bytes, Output& output);
  bool DrainOwn(Output& output);
  bool DrainLine(Output& output);
  void BeginLine(std::size_t marker);
  std::string_view Rest() const { return std::string_view(held_).substr(at_); }

  bool in_line_ = false;  // within a line of oneDNN
  std::string held_;      // received bytes; bytes from at_ on are not yet attributed
  std::size_t at_ = 0;    // position in held_
  std::string line_;      // current line of oneDNN so far
  std::string own_line_;  // start of the program's current line
  std::size_t lines_ = 0, executed_ = 0, cut_lines_ = 0, versions_ = 0;
};

struct VerboseMode {
  Variables variables;
  std::optional<std::string> remark;  // set if the user's own variables are kept
};

// Returns variables that make oneDNN (1.x with its old names, 2.x, 3.x) write one line, with a time
// stamp, per executed primitive. Does not replace variables that the user has set.
VerboseMode VerboseModeOn();

struct VerboseRun {
  ForegroundEnd end;
  std::uint64_t own_bytes = 0;  // [byte] the program's own output
  std::uint64_t log_bytes = 0;  // [byte] oneDNN's lines
  std::size_t lines = 0, executed = 0, cut_lines = 0, versions = 0;  // [1] see LogSeparator
  bool log_complete = true;                                          // all could be written
  // [1] Part of this machine's CPU time that other programs used while the program ran.
  std::optional<double> others_share;
};

// Runs the program of `request`, without calling the request's functions, and writes oneDNN's lines
// to the file `log` during the run. `progress` receives progress lines; it may be null. Throws
// CannotStart, and BadInput if the log cannot be created.
VerboseRun RunVerbose(const ForegroundRequest& request, const std::string& log,
                      std::ostream* progress);

}  // namespace dlroof::profile
