// Runs a program in the foreground while its standard output passes through this process. Linux.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/process.h"

namespace dlroof::profile {

// The program shares this process's standard input and error. If this process's standard output is
// a terminal, the program's is a pseudo-terminal of the same size that changes no byte; else a
// pipe.
struct ForegroundRequest {
  std::vector<std::string> command;
  Variables variables = {};  // in addition to this process's environment
  bool no_input = false;     // /dev/null as standard input
  // Receives the bytes of standard output in order. Returns false if nobody reads them any more;
  // the program's output is then closed, like a pipe whose reader has ended.
  std::function<bool(std::string_view bytes)> take;
  // Called after a moment without bytes (20 ms, then every half second) with the time since the
  // start. [s] Returns false as `take` does. May be empty.
  std::function<bool(double seconds)> idle;
};

struct ForegroundEnd {
  ProcessEnd end;
  double wall_seconds = 0;    // [s] from the start to the program's end
  double cpu_seconds = 0;     // [s] of the program and of the children that it waited for
  double reader_seconds = 0;  // [s] CPU time of this thread meanwhile
  int processes = 1;          // [1] the program and its descendants that lived for half a second
  bool left_open = false;     // another process kept the output open after the program's end
  std::optional<int> passed_signal;  // the last signal that was passed on to the program
};

// Runs the program to its end. Passes signals of other processes (SIGINT, SIGTERM, SIGHUP, SIGQUIT)
// on to the program; signals of the terminal reach the program directly. None of them ends this
// process before the program ends. Throws CannotStart.
ForegroundEnd RunInForeground(const ForegroundRequest& request);

// Writes all bytes to standard output. Returns false if nobody reads them.
bool WriteToStdout(std::string_view bytes);

}  // namespace dlroof::profile
