// Runs a program in the foreground, with its standard output passing through this process. Linux.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/process.h"

namespace dlroof::profile {

// The program has our standard input and error. Its standard output is a pseudo-terminal where ours
// is a terminal, of the same size, which changes no byte; else a pipe.
struct ForegroundRequest {
  std::vector<std::string> command;
  Variables variables = {};  // beside our own
  bool no_input = false;     // /dev/null as standard input
  // Gets the bytes of standard output in their order. False: nobody reads them any more, so the
  // program's output closes, as a pipe's whose reader ended.
  std::function<bool(std::string_view bytes)> take;
  // Is called after a moment without bytes (20 ms, then every half second), with the time since
  // the start [s]. As `take`.
  std::function<bool(double seconds)> idle;
};

struct ForegroundEnd {
  ProcessEnd end;
  double wall_seconds = 0;    // [s] from the start to the program's end
  double cpu_seconds = 0;     // [s] of the program and of the children that it waited for
  double reader_seconds = 0;  // [s] of CPU time of this thread meanwhile
  int processes = 1;          // [1] it and those of its children that lived for half a second
  bool left_open = false;     // another process kept the output open after the program's end
  int passed_signal = 0;      // the last signal that was passed on to it; 0: none
};

// Signals that another process sends us (SIGINT, SIGTERM, SIGHUP, SIGQUIT) are passed on to the
// program; those of the terminal reach it by themselves. None of them ends this process before the
// program ends. Throws CannotStart.
ForegroundEnd RunInForeground(const ForegroundRequest& request);

// Writes all bytes to standard output; false: nobody reads them.
bool WriteToStdout(std::string_view bytes);

}  // namespace dlroof::profile
