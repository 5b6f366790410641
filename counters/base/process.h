// Starts, watches and ends other programs. Linux.
//
// Stops a program at its next safe point.
//
// A loop over many small, independent pieces of work.
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
  CannotStart(const std::string& program, int reason);

  int reason;  // errno
};

// An open file descriptor; -1: none.
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

// End of a process.
struct ProcessEnd {
  int exit_code = 0;  // where no signal ended it
  int signal = 0;     // 0: none
};
// Returns "exit code 3" or "signal 11 (Segmentation fault)".
std::string Describe(const ProcessEnd& end);

struct ProcessFiles {
  std::string out, err;          // paths: standard output and error, written from their beginning
  bool turns = false;            // descriptors 3 and 4 are pipes: from us, to us
  std::string in = "/dev/null";  // path: standard input
};

using Variables = std::map<std::string, std::string>;

// A process in its own group, so that ^C in the terminal does not reach it. The system kills it
// when this process ends.
class WatchedProcess {
 public:
  // Looks for `args[0]` in PATH and adds `variables` to the environment. Ignores SIGPIPE from now
  // on where there are turns: a pipe to an ended program is no reason to end. Throws CannotStart,
  // and BadInput for a file that cannot be opened.
  WatchedProcess(const std::vector<std::string>& args, const ProcessFiles& files,
                 const Variables& variables = {});
  // Kills the process and its group.
  ~WatchedProcess();
  WatchedProcess(const WatchedProcess&) = delete;
  WatchedProcess& operator=(const WatchedProcess&) = delete;

  // Absent: `seconds` have passed, or the user asked for an interrupt (interrupt.h).
  std::optional<ProcessEnd> WaitForEnd(double seconds);

  // All threads of the process pause between the two.
  void Stop();
  void Continue();

  void Send(char byte);
  // Returns a line without its newline. Absent: `seconds` have passed, the process has ended, or
  // the user asked for an interrupt.
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

// Starts a program with the descriptors `in` and `out` and our standard error. It belongs to our
// group: what the terminal sends us (^C) reaches it too. The caller waits for it. The system kills
// it when this process ends. Throws CannotStart.
pid_t StartInForeground(const std::vector<std::string>& args, const Variables& variables, int in,
                        int out);

struct ChildResult {
  int exit_code = 0;  // 128 + signal where a signal ended it
  std::string out;    // standard output
  std::string err;    // standard error
};

// Runs a program to its end with `input` as its standard input. Throws BadInput: it cannot be
// started. Throws std::runtime_error: the user asked for an interrupt.
ChildResult RunChild(const std::vector<std::string>& command, const Variables& variables = {},
                     const std::string& input = "");

// Returns whether `program` is an executable file in PATH.
bool IsInPath(const std::string& program);

// Sleeps; wakes early when the user asks for an interrupt.
void SleepSeconds(double seconds);

// Makes SIGINT and SIGTERM request a stop: the program skips all work after its next safe point. A
// second signal ends the program at once.
void StopOnInterrupt();
bool StoppedByInterrupt();

// Calls body(i) for each i below `count`, in any order, on as many CPUs as the work is worth.
// Throws what a call throws.
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
