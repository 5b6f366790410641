// A program that this one starts, watches and, if need be, ends. Linux.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace dlroof {

// An open file descriptor; -1 is none.
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

// How it ended.
struct ProcessEnd {
  int exit_code = 0;  // where no signal ended it
  int signal = 0;     // 0: none
};
// "exit code 3", "signal 11 (Segmentation fault)".
std::string Describe(const ProcessEnd& end);

struct ProcessFiles {
  std::string out, err;  // paths: standard output and error go there, from their beginning
  bool turns = false;    // descriptors 3 and 4 are pipes: from us, to us
};

// In its own process group, so that ^C in the terminal does not reach it; killed, with its group,
// when this object or this process ends.
class WatchedProcess {
 public:
  // From now on SIGPIPE is ignored: a pipe to a program that has ended is no reason to end. Throws
  // BadInput: the program cannot be started.
  WatchedProcess(const std::vector<std::string>& args, const ProcessFiles& files);
  ~WatchedProcess();
  WatchedProcess(const WatchedProcess&) = delete;
  WatchedProcess& operator=(const WatchedProcess&) = delete;

  // Absent when `seconds` have passed, or an interrupt was asked for (runner.h).
  std::optional<ProcessEnd> WaitForEnd(double seconds);

  // All of its threads stand still between the two.
  void Stop();
  void Continue();

  void Send(char byte);
  // Without its newline; absent when `seconds` have passed, it has ended, or an interrupt was asked
  // for.
  std::optional<std::string> ReadLine(double seconds);

 private:
  void Start(const std::vector<std::string>& args, const ProcessFiles& files);

  pid_t pid_ = -1;
  Descriptor watch_;  // readable when it has ended
  Descriptor to_, from_;
  std::string unread_;
  std::optional<ProcessEnd> end_;
};

// Sleeps; wakes early when an interrupt is asked for.
void SleepSeconds(double seconds);

}  // namespace dlroof
