#include "counters/base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <sstream>

#include "counters/base/files.h"

namespace dlroof {
namespace {

// [s] Maximum duration of one poll: a signal that arrives just before poll does not interrupt it.
constexpr double kSliceSeconds = 0.5;

std::array<Descriptor, 2> Pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw BadInput("pipe: {}", std::strerror(errno));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Descriptor OpenForChild(const std::string& path, int flags) {
  Descriptor file(open(path.c_str(), flags | O_CLOEXEC, 0644));
  if (file.get() < 0) throw BadInput("{}: {}", path, std::strerror(errno));
  return file;
}

// Settings of a child process, prepared before vfork.
struct ChildSetup {
  std::vector<std::string> arguments, environment;
  std::vector<Descriptor> descriptors;  // become descriptors 0, 1, ... of the child
  bool own_group = true;                // so that ^C in the terminal does not reach it
  Descriptor failure = Descriptor();    // receives errno if the program cannot be started
};

std::vector<std::string> Environment(const Variables& added) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (added.count(text.substr(0, text.find('='))) == 0) all.push_back(text);
  }
  for (const auto& [name, value] : added) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Executes the program in the child. Until execvpe the child shares the parent's memory (vfork), so
// this function must not allocate, throw or return.
[[noreturn]] void Execute(char* const* args, char* const* variables, const ChildSetup& setup,
                          pid_t parent) {
  if (setup.own_group) setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  std::signal(SIGPIPE, SIG_DFL);
  // A child in its own group reacts to SIGINT and SIGTERM even if this process ignores them. A
  // child in our group ignores the signals that we ignore (nohup). execvpe resets our handlers.
  if (setup.own_group)
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
  // All source descriptors have numbers of at least 10, so dup2 does not overwrite one of them.
  for (std::size_t i = 0; i < setup.descriptors.size(); ++i)
    dup2(setup.descriptors[i].get(), static_cast<int>(i));
  execvpe(args[0], args, variables);
  const int error = errno;
  [[maybe_unused]] const auto written = write(setup.failure.get(), &error, sizeof error);
  _exit(127);
}

// Uses vfork, which copies no page tables, because this process may have gigabytes of tensors.
pid_t ForkAndExecute(ChildSetup& setup) {
  const auto args = Pointers(setup.arguments), variables = Pointers(setup.environment);
  const pid_t parent = getpid();
  const pid_t child = vfork();
  if (child == 0) Execute(args.data(), variables.data(), setup, parent);
  return child;
}

// Returns a duplicate of a descriptor with a number of at least 10: the child uses 0 to 4.
Descriptor MoveUp(Descriptor descriptor) {
  Descriptor moved(fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 10));
  if (moved.get() < 0) throw BadInput("fcntl: {}", std::strerror(errno));
  return moved;
}

pid_t StartChild(ChildSetup& setup) {
  auto failure = Pipe();
  setup.failure = MoveUp(std::move(failure[1]));
  const pid_t child = ForkAndExecute(setup);
  if (child < 0) throw BadInput("vfork: {}", std::strerror(errno));
  setup.failure = Descriptor();
  int error = 0;
  if (read(failure[0].get(), &error, sizeof error) != sizeof error) return child;
  waitpid(child, nullptr, 0);
  throw CannotStart(setup.arguments[0], error);
}

// Waits until `fd` is readable. Returns false when `seconds` have passed or the user interrupts.
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

CannotStart::CannotStart(const std::string& program, int code)
    : BadInput("{}: cannot be started: {}", program, std::strerror(code)), error(code) {}

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

WatchedProcess::WatchedProcess(const std::vector<std::string>& args, const ProcessFiles& files,
                               const Variables& variables) {
  constexpr int kTruncate = O_WRONLY | O_CREAT | O_TRUNC;
  ChildSetup setup{args, Environment(variables), {}};
  auto& descriptors = setup.descriptors;
  descriptors.push_back(MoveUp(OpenForChild(files.in, O_RDONLY)));
  descriptors.push_back(MoveUp(OpenForChild(files.out, kTruncate)));
  descriptors.push_back(MoveUp(OpenForChild(files.err, kTruncate)));
  if (files.turns) {
    std::signal(SIGPIPE, SIG_IGN);
    auto to_child = Pipe(), from_child = Pipe();
    descriptors.push_back(MoveUp(std::move(to_child[0])));
    descriptors.push_back(MoveUp(std::move(from_child[1])));
    to_ = std::move(to_child[1]);
    from_ = std::move(from_child[0]);
  }
  pid_ = StartChild(setup);
  watch_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  if (watch_.get() >= 0) return;
  const int error = errno;
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
  throw BadInput("pidfd_open: {}", std::strerror(error));
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
  // Waits until the process has stopped or ended. WNOWAIT leaves the exit status to WaitForEnd.
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

pid_t StartInForeground(const std::vector<std::string>& args, const Variables& variables, int in,
                        int out) {
  ChildSetup setup{args, Environment(variables), {}, false};
  for (const int fd : {in, out, STDERR_FILENO})
    setup.descriptors.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, 10));
  return StartChild(setup);
}

ChildResult RunChild(const std::vector<std::string>& command, const Variables& variables,
                     const std::string& input) {
  // The output goes to files, because pipes would have to be read while the child runs.
  const TemporaryFolder folder;
  const ProcessFiles files{folder / "out", folder / "err", false, folder / "in"};
  WriteFile(files.in, input);
  WatchedProcess process(command, files, variables);
  const auto end = process.WaitForEnd(std::numeric_limits<double>::infinity());
  if (!end) throw std::runtime_error(command[0] + ": interrupted");
  return {end->signal == 0 ? end->exit_code : 128 + end->signal, ReadFileIfAny(files.out),
          ReadFileIfAny(files.err)};
}

std::optional<std::filesystem::path> FoundInPath(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const auto file = std::filesystem::path(folder) / program;
    std::error_code none;
    if (!folder.empty() && std::filesystem::is_regular_file(file, none) &&
        access(file.c_str(), X_OK) == 0)
      return std::filesystem::canonical(file, none);
  }
  return std::nullopt;
}

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void SleepSeconds(double seconds) { Readable(-1, seconds); }

namespace {

std::atomic<int> stop_signal{0};       // 0: none
std::atomic<std::int64_t> stop_ns{0};  // [ns] time of the signal
static_assert(std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

extern "C" void RequestStop(int signal) {
  constexpr std::int64_t kSecond = 1'000'000'000;  // [ns]
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t ns = kSecond * now.tv_sec + now.tv_nsec;
  if (stop_signal == 0) {
    stop_ns = ns;
    stop_signal = signal;
    constexpr std::string_view kWhat =
        "stopping when this repetition has ended; the same signal again stops at once\n";
    if (isatty(STDERR_FILENO) == 1) [[maybe_unused]]
      const auto written = write(STDERR_FILENO, kWhat.data(), kWhat.size());
  } else if (ns - stop_ns > kSecond) {
    std::signal(signal, SIG_DFL);
    raise(signal);  // pending until this handler returns
  }
}

}  // namespace

void StopOnInterrupt() {
  // The signal handler needs its own stack: generated kernels may use memory below the stack's red
  // zone, which a handler on the same stack overwrites (oneDNN 3.2's sgemm lost its loop counters).
  static std::array<char, 1 << 16> other_stack;
  stack_t stack = {};
  stack.ss_sp = other_stack.data();
  stack.ss_size = other_stack.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = RequestStop;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  struct sigaction before = {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

bool StoppedByInterrupt() { return stop_signal != 0; }

int InterruptCode() { return 128 + stop_signal; }

}  // namespace dlroof
