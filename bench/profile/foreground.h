// Runs a program in the foreground and passes its standard output through this process. Linux.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/process.h"
#include "reporters/text/text.h"

namespace dlroof::profile {

// The program shares this process's standard input and error. Its standard output is a socket,
// whose kernel tells which process has written (SCM_CREDENTIALS); or, if this process writes to a
// terminal, a pseudo-terminal of the same size that changes no byte.
struct ForegroundRequest {
  std::vector<std::string> command;
  Variables variables = {};  // in addition to this process's environment
  // [s] after which the program gets SIGTERM, and SIGKILL if it does not end. Unset: never.
  std::optional<double> most_seconds = {};
  bool pipe = false;  // a pipe instead of a socket, for programs that open /dev/stdout
  // Called before `take` if another process has written the bytes than before. Never called for a
  // pipe and a terminal. May be empty.
  std::function<void(std::int64_t process)> from = {};
  // Receives the bytes of the program's standard output in order. Returns false if nobody reads
  // them any more; the program's output is then closed, as a pipe whose reader has ended.
  std::function<bool(std::string_view bytes)> take;
  // Called with the time since the start [s] while the program writes nothing: after 20 ms, then
  // every half second. Returns false if nobody reads the output any more. May be empty.
  std::function<bool(double seconds)> idle;
  // Called with the number of the process after its start. May be empty.
  std::function<void(int pid)> started;
};

struct ForegroundEnd {
  ProcessEnd end;
  double wall_seconds = 0;           // [s] from the start to the program's end
  bool names_processes = false;      // its output was a socket
  bool left_open = false;            // another process kept the output open after the program's end
  std::optional<int> passed_signal;  // the last signal passed on to it
  bool out_of_time = false;          // it was ended after most_seconds
};

// Runs the program to its end. Passes signals of other processes (SIGINT, SIGTERM, SIGHUP, SIGQUIT)
// on to the program; signals of the terminal reach the program directly. None of them ends this
// process before the program ends. Throws CannotStart.
ForegroundEnd RunInForeground(const ForegroundRequest& request);

// Writes all bytes to standard output. Returns false if nobody reads them.
bool WriteToStdout(std::string_view bytes);

// Returns the exit code of a shell: the program's own, 128 plus the signal that ended it, 127 if
// there is no such program, 126 if it cannot be executed.
int ExitCodeOf(const ProcessEnd& end);
int ExitCodeOf(const CannotStart& cannot);

// Returns the width of the terminal on standard error, or 0 if it is not a terminal. [columns]
int MessageColumns();

// Writes a sentence with the program's name in front. Control characters are replaced.
template <class... Values>
void Say(std::ostream& messages, fmt::format_string<Values...> sentence, Values&&... values) {
  messages << "dlroof: " << text::Printable(fmt::format(sentence, std::forward<Values>(values)...))
           << '\n';
}

}  // namespace dlroof::profile
