// Runs a program in the foreground and passes its standard output through this process (Linux).
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

// The program inherits standard input and error. Its standard output is a socket, by which the
// kernel reports the writing process (SCM_CREDENTIALS), or, if this process writes to a terminal, a
// pseudo-terminal of the same size in raw mode.
struct ForegroundRequest {
  std::vector<std::string> command;
  Variables variables = {};  // added to this process's environment
  // [s] After this time the program gets SIGTERM, later SIGKILL. Unset: never.
  std::optional<double> most_seconds = {};
  bool pipe = false;  // use a pipe instead of a socket, for programs that open /dev/stdout
  // Called before `take` if the bytes are from another process than the previous ones. Only for
  // sockets. May be empty.
  std::function<void(std::int64_t process)> from = {};
  // Receives the program's output in order. Returns false if the output has no reader any more; the
  // program's standard output is then closed, like a pipe without a reader.
  std::function<bool(std::string_view bytes)> take;
  // Called with the time since the start [s] while the program writes nothing: after 20 ms, then
  // every half second. Returns false if the output has no reader any more. May be empty.
  std::function<bool(double seconds)> idle;
  // Called with the process id after the start. May be empty.
  std::function<void(int pid)> started;
};

struct ForegroundEnd {
  ProcessEnd end;
  double wall_seconds = 0;       // [s] from start to end of the program
  bool names_processes = false;  // the output was a socket
  bool left_open = false;        // another process still had the output open when the program ended
  std::optional<int> passed_signal;  // last signal passed on to the program
  bool out_of_time = false;          // ended because of most_seconds
};

// Runs the program to its end. Passes on SIGINT, SIGTERM, SIGHUP and SIGQUIT from other processes;
// those from the terminal reach the program directly. None of them ends this process before the
// program. Throws CannotStart.
ForegroundEnd RunInForeground(const ForegroundRequest& request);

// Writes all bytes to standard output. Returns false if it has no reader.
bool WriteToStdout(std::string_view bytes);

// Returns the exit code as a shell does: the program's own, 128 + the signal that ended it, 127 if
// not found, 126 if not executable.
int ExitCodeOf(const ProcessEnd& end);
int ExitCodeOf(const CannotStart& cannot);

// Returns the columns of the terminal on standard error; 0 if it is not a terminal.
int MessageColumns();

// Writes a sentence after the program's name. Replaces control characters.
template <class... Values>
void Say(std::ostream& messages, fmt::format_string<Values...> sentence, Values&&... values) {
  messages << "dlroof: " << text::Printable(fmt::format(sentence, std::forward<Values>(values)...))
           << '\n';
}

}  // namespace dlroof::profile
