// Starts, watches and ends other programs (Linux), handles interrupts, and runs loops in parallel.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "counters/base/error.h"

namespace dlroof {

struct CannotStart : BadInput {
  CannotStart(const std::string& program, int error);

  int error;  // errno
};

// Owns a file descriptor and closes it. -1 means none.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;

  int get() const { return fd_; }

 private:
  int fd_;
};

// How a process ended: by `signal` if that is not 0, otherwise with `exit_code`.
struct ProcessEnd {
  int exit_code = 0;
  int signal = 0;
};
// Returns "exit code 3" or "signal 11 (Segmentation fault)".
std::string Describe(const ProcessEnd& end);

struct ProcessFiles {
  std::string out, err;  // paths for standard output and error; truncated first
  bool turns = false;    // connects Send to the child's descriptor 3, ReadLine to its descriptor 4
  std::string in = "/dev/null";  // path of standard input
};

using Variables = std::map<std::string, std::string>;

// A child process in its own process group, so that ^C in the terminal does not reach it. The
// kernel kills the child when this process ends.
class WatchedProcess {
 public:
  // Starts `args[0]`, found in PATH, and adds `variables` to its environment. If `files.turns` is
  // set, this process ignores SIGPIPE afterwards. Throws CannotStart, or BadInput if a file cannot
  // be opened.
  WatchedProcess(const std::vector<std::string>& args, const ProcessFiles& files,
                 const Variables& variables = {});
  // Kills the process and its group.
  ~WatchedProcess();
  WatchedProcess(const WatchedProcess&) = delete;
  WatchedProcess& operator=(const WatchedProcess&) = delete;

  // Waits for the end of the process and returns how it ended. Returns nullopt if the process has
  // not ended after `seconds` or the user interrupts.
  std::optional<ProcessEnd> WaitForEnd(double seconds);

  // Pauses and resumes all threads of the process.
  void Stop();
  void Continue();

  void Send(char byte);
  // Returns the next line that the process writes to its descriptor 4, without its newline. Returns
  // nullopt after `seconds`, if the process has ended, or if the user interrupts.
  std::optional<std::string> ReadLine(double seconds);

 private:
  pid_t pid_ = -1;
  Descriptor watch_;  // readable when the process has ended
  Descriptor to_, from_;
  std::string unread_;
  std::optional<ProcessEnd> end_;
};

// Starts a program in this process's group, so that the terminal's ^C reaches the program too.
// Returns the program's process id, for which the caller must wait. The descriptors `in` and `out`
// become its standard streams. The kernel kills it when this process ends. Throws CannotStart.
pid_t StartInForeground(const std::vector<std::string>& args, const Variables& variables, int in,
                        int out);

struct ChildResult {
  int exit_code = 0;  // 128 + signal number if a signal ended it
  std::string out;    // standard output
  std::string err;    // standard error
};

// Runs a program until it ends, with `input` as its standard input. Throws BadInput if it cannot be
// started, std::runtime_error if the user interrupts.
ChildResult RunChild(const std::vector<std::string>& command, const Variables& variables = {},
                     const std::string& input = "");

// Returns the first executable file `program` in the folders of PATH, with symbolic links resolved.
// Skips empty entries, which stand for the working folder.
std::optional<std::filesystem::path> FoundInPath(const std::string& program);

double WallSeconds();  // [s] of a steady clock

// Sleeps for `seconds`, or until the user interrupts.
void SleepSeconds(double seconds);

// After this call SIGINT, SIGTERM or SIGHUP (unless ignored, as by nohup) sets StoppedByInterrupt.
// A second signal ends the program if it comes more than a second later, because `timeout` sends
// each signal twice.
void StopOnInterrupt();
bool StoppedByInterrupt();
// Returns the exit code of a program that was stopped: 128 + the signal's number.
int InterruptCode();

// Calls a function when the scope ends.
class AtEnd {
 public:
  explicit AtEnd(std::function<void()> release) : release_(std::move(release)) {}
  ~AtEnd() { release_(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  std::function<void()> release_;
};

// Calls body(i) for i = 0 to count - 1 in any order, on one thread per 1024 calls and at most one
// per CPU. Rethrows an exception of `body`.
template <class Body>
void ParallelFor(std::size_t count, const Body& body) {
  constexpr std::size_t kWorthAThread = 1024;
  const std::size_t cpus = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t parts = std::clamp<std::size_t>(count / kWorthAThread, 1, cpus);
  const auto run = [&](std::size_t part) {
    for (std::size_t i = part * count / parts; i < (part + 1) * count / parts; ++i) body(i);
  };
  std::vector<std::future<void>> others;
  for (std::size_t part = 1; part < parts; ++part)
    others.push_back(std::async(std::launch::async, run, part));
  run(0);
  for (auto& other : others) other.get();
}

}  // namespace dlroof
