// Starts, watches and ends other programs (Linux), handles interrupts, and runs loops in parallel.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "counters/base/error.h"

namespace dlroof {

// A program that cannot be started.
struct CannotStart : BadInput {
  CannotStart(const std::string& program, int error);

  int error;  // errno
};

// Owns a file descriptor, or -1, and closes it.
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

// How a process ended: by an exit code, or by a signal other than 0.
struct ProcessEnd {
  int exit_code = 0;
  int signal = 0;
};
// Returns "exit code 3" or "signal 11 (Segmentation fault)".
std::string Describe(const ProcessEnd& end);

struct ProcessFiles {
  std::string out, err;          // paths of standard output and error, which are truncated
  bool turns = false;            // descriptors 3 and 4 are pipes for Send and ReadLine
  std::string in = "/dev/null";  // path of standard input
};

using Variables = std::map<std::string, std::string>;

// A process in its own group, so that ^C in the terminal does not reach it. The kernel kills it
// when this process ends.
class WatchedProcess {
 public:
  // Looks for `args[0]` in PATH and adds `variables` to the environment. With `files.turns` this
  // process ignores SIGPIPE from then on. Throws CannotStart, and BadInput for a file that cannot
  // be opened.
  WatchedProcess(const std::vector<std::string>& args, const ProcessFiles& files,
                 const Variables& variables = {});
  // Kills the process and its group.
  ~WatchedProcess();
  WatchedProcess(const WatchedProcess&) = delete;
  WatchedProcess& operator=(const WatchedProcess&) = delete;

  // Returns nullopt when `seconds` have passed or the user interrupts (StopOnInterrupt).
  std::optional<ProcessEnd> WaitForEnd(double seconds);

  // Pauses and resumes all threads of the process.
  void Stop();
  void Continue();

  void Send(char byte);
  // Returns a line without its newline, or nullopt when `seconds` have passed, the process has
  // ended or the user interrupts.
  std::optional<std::string> ReadLine(double seconds);

 private:
  void Start(const std::vector<std::string>& args, const ProcessFiles& files,
             const Variables& variables);

  pid_t pid_ = -1;
  Descriptor watch_;  // readable when the process has ended
  Descriptor to_, from_;
  std::string unread_;
  std::optional<ProcessEnd> end_;
};

// Starts a program in this process's group, so that it receives the terminal's ^C too, with `in`
// and `out` as standard input and output and this process's standard error. The caller waits for
// it. The kernel kills it when this process ends. Throws CannotStart.
pid_t StartInForeground(const std::vector<std::string>& args, const Variables& variables, int in,
                        int out);

struct ChildResult {
  int exit_code = 0;  // 128 + signal if a signal ended it
  std::string out;    // standard output
  std::string err;    // standard error
};

// Runs a program to its end with `input` as its standard input. Throws BadInput if it cannot be
// started, std::runtime_error if the user interrupts.
ChildResult RunChild(const std::vector<std::string>& command, const Variables& variables = {},
                     const std::string& input = "");

// Returns whether `program` is an executable file in PATH.
bool IsInPath(const std::string& program);

// Sleeps; wakes early when the user interrupts.
void SleepSeconds(double seconds);

// Makes SIGINT and SIGTERM request a stop, which StoppedByInterrupt reports. A second signal ends
// the program at once.
void StopOnInterrupt();
bool StoppedByInterrupt();

// Calls body(i) for each i below `count`, in any order, with one thread per 1024 calls and at most
// one per CPU. Throws what a call throws.
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
