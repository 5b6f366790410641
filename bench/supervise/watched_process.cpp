#include "bench/supervise/watched_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "bench/run/interrupt.h"
#include "counters/base/error.h"
#include "counters/cpu/clocks.h"

namespace dlroof {
namespace {

// A signal that comes just before we wait is seen after this long.
constexpr double kSliceSeconds = 0.5;

std::array<Descriptor, 2> Pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::runtime_error(fmt::format("pipe: {}", std::strerror(errno)));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Descriptor OpenForChild(const std::string& path, int flags) {
  Descriptor file(open(path.c_str(), flags | O_CLOEXEC, 0644));
  if (file.get() < 0) throw BadInput(fmt::format("{}: {}", path, std::strerror(errno)));
  return file;
}

// What the child's descriptors 0, 1, ... are to be.
using Inherited = std::vector<int>;

// Runs in the child: nothing here may allocate or throw.
[[noreturn]] void Become(char* const* args, const Inherited& descriptors, pid_t parent, int says) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) std::signal(signal, SIG_DFL);
  // All above the numbers that they get (MoveUp), so none is overwritten before it is copied.
  for (std::size_t i = 0; i < descriptors.size(); ++i) dup2(descriptors[i], static_cast<int>(i));
  execvp(args[0], args);
  const int reason = errno;
  [[maybe_unused]] const auto written = write(says, &reason, sizeof reason);
  _exit(127);
}

// To a number of at least 10, out of the way of those that the child gets.
Descriptor MoveUp(Descriptor descriptor) {
  Descriptor moved(fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 10));
  if (moved.get() < 0) throw std::runtime_error(fmt::format("fcntl: {}", std::strerror(errno)));
  return moved;
}

// True when it can be read before `seconds` have passed and no interrupt came.
bool Readable(int fd, double seconds) {
  const double end = WallSeconds() + seconds;
  for (double left = seconds; left >= 0 && !StoppedByInterrupt(); left = end - WallSeconds()) {
    pollfd asked{fd, POLLIN, 0};
    const int wait = static_cast<int>(1e3 * std::min(left, kSliceSeconds)) + 1;
    if (poll(&asked, 1, wait) > 0) return true;
  }
  return false;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

std::string Describe(const ProcessEnd& end) {
  if (end.signal == 0) return fmt::format("exit code {}", end.exit_code);
  return fmt::format("signal {} ({})", end.signal, strsignal(end.signal));
}

WatchedProcess::WatchedProcess(const std::vector<std::string>& args, const ProcessFiles& files) {
  Start(args, files);
}

void WatchedProcess::Start(const std::vector<std::string>& args, const ProcessFiles& files) {
  std::signal(SIGPIPE, SIG_IGN);
  constexpr int kFresh = O_WRONLY | O_CREAT | O_TRUNC;
  std::vector<Descriptor> kept;
  kept.push_back(MoveUp(OpenForChild("/dev/null", O_RDONLY)));
  kept.push_back(MoveUp(OpenForChild(files.out, kFresh)));
  kept.push_back(MoveUp(OpenForChild(files.err, kFresh)));
  if (files.turns) {
    auto there = Pipe(), back = Pipe();
    kept.push_back(MoveUp(std::move(there[0])));
    kept.push_back(MoveUp(std::move(back[1])));
    to_ = std::move(there[1]);
    from_ = std::move(back[0]);
  }
  Inherited descriptors;
  descriptors.reserve(kept.size());
  for (const auto& descriptor : kept) descriptors.push_back(descriptor.get());
  auto told = Pipe();
  told[1] = MoveUp(std::move(told[1]));
  std::vector<std::string> copies = args;
  std::vector<char*> pointers;
  pointers.reserve(copies.size() + 1);
  for (auto& copy : copies) pointers.push_back(copy.data());
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) Become(pointers.data(), descriptors, parent, told[1].get());
  if (pid_ < 0) throw std::runtime_error(fmt::format("fork: {}", std::strerror(errno)));
  setpgid(pid_, pid_);
  told[1] = Descriptor();
  int reason = 0;
  if (read(told[0].get(), &reason, sizeof reason) == sizeof reason) {
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
    throw BadInput(fmt::format("{}: cannot be started: {}", args[0], std::strerror(reason)));
  }
  watch_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  if (watch_.get() >= 0) return;
  const int refused = errno;
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
  throw std::runtime_error(fmt::format("pidfd_open: {}", std::strerror(refused)));
}

WatchedProcess::~WatchedProcess() {
  if (pid_ < 0) return;
  kill(-pid_, SIGKILL);
  if (!end_) waitpid(pid_, nullptr, 0);
}

std::optional<ProcessEnd> WatchedProcess::WaitForEnd(double seconds) {
  if (end_) return end_;
  if (!Readable(watch_.get(), seconds)) return std::nullopt;
  int status = 0;
  waitpid(pid_, &status, 0);
  end_ = WIFSIGNALED(status) ? ProcessEnd{0, WTERMSIG(status)} : ProcessEnd{WEXITSTATUS(status), 0};
  return end_;
}

void WatchedProcess::Stop() {
  if (end_) return;
  kill(pid_, SIGSTOP);
  // Until it stands, or has ended; that is looked at again by WaitForEnd.
  siginfo_t seen{};
  waitid(P_PID, static_cast<id_t>(pid_), &seen, WSTOPPED | WEXITED | WNOWAIT);
  if (seen.si_code == CLD_STOPPED)
    waitid(P_PID, static_cast<id_t>(pid_), &seen, WSTOPPED | WNOHANG);
}

void WatchedProcess::Continue() {
  if (!end_) kill(pid_, SIGCONT);
}

void WatchedProcess::Send(char byte) {
  [[maybe_unused]] const auto written = write(to_.get(), &byte, 1);
}

std::optional<std::string> WatchedProcess::ReadLine(double seconds) {
  const double end = WallSeconds() + seconds;
  for (;;) {
    if (const auto newline = unread_.find('\n'); newline != std::string::npos) {
      std::string line = unread_.substr(0, newline);
      unread_.erase(0, newline + 1);
      return line;
    }
    if (!Readable(from_.get(), end - WallSeconds())) return std::nullopt;
    std::array<char, 256> buffer{};
    const auto got = read(from_.get(), buffer.data(), buffer.size());
    if (got <= 0) return std::nullopt;
    unread_.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

void SleepSeconds(double seconds) { Readable(-1, seconds); }

}  // namespace dlroof
