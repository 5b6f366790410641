#include "counters/base/program.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <iostream>

#include "counters/base/error.h"

namespace dlroof {
namespace {

// A write to the replacement of standard output fails, as a write to the closed stream would.
void OpenClosedStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) == -1)
      // The system takes the smallest free number, which is `stream`.
      static_cast<void>(open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY));
}

bool AllWritten() {
  return std::cout.flush().good() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

}  // namespace

int RunProgram(const char* name, const std::function<int()>& run) {
  OpenClosedStreams();
  int code = 0;
  try {
    code = run();
  } catch (const BadInput& error) {
    std::cerr << name << ": " << error.what() << '\n';
    code = 2;
  } catch (const std::exception& error) {
    std::cerr << name << ": " << error.what() << '\n';
    code = 1;
  }
  if (AllWritten()) return code;
  std::cerr << name << ": standard output: not all could be written (disk full or closed?)\n";
  return 2;
}

}  // namespace dlroof
