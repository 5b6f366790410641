#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <utility>

#include "bench/profile/verbose_run.h"
#include "counters/cpu/clocks.h"

namespace dlroof::profile {
namespace {

constexpr int kMomentMs = 20, kTickMs = 500;
constexpr double kGraceSeconds = 10;  // [s] between SIGTERM and SIGKILL after most_seconds
constexpr double kRestAfterSignalSeconds = 0.2;
constexpr std::size_t kPiece = 1 << 18;  // [byte] of one read
// [ms] Pause after each read, so that a large pipe collects lines: a reader that wakes for every
// line would take a CPU from the program.
constexpr int kGatherMs = 20;
// [byte] Size of pipe or socket, large enough that the program does not wait for the reader.
constexpr int kPipeBytes = 1 << 20, kSocketBytes = 1 << 22;
// Bytes of socket buffer per byte of text: the kernel counts some 700 for a line of 200.
constexpr int kSocketPerByte = 4;

[[noreturn]] void ThrowSystem(const char* call) {
  throw BadInput("{}: {}", call, std::strerror(errno));
}

struct Arrived {
  int signal;
  bool of_terminal;  // the terminal sent it to the whole process group
};

int arrivals = -1;  // descriptor of the pipe that the handler writes to

extern "C" void NoteSignal(int signal, siginfo_t* facts, void*) {
  const int before = errno;
  const Arrived arrived{signal, facts->si_code == SI_KERNEL};
  [[maybe_unused]] const auto written = write(arrivals, &arrived, sizeof arrived);
  errno = before;
}

// While it exists, a handler writes signals to a pipe. Ignored signals (nohup) stay ignored.
class SignalPipe {
 public:
  SignalPipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) ThrowSystem("pipe");
    read_ = Descriptor(ends[0]);
    write_ = Descriptor(ends[1]);
    arrivals = write_.get();
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler == SIG_IGN && kSignals[i] != SIGWINCH) continue;
      struct sigaction action = {};
      action.sa_sigaction = NoteSignal;
      action.sa_flags = SA_SIGINFO | SA_RESTART;
      sigaction(kSignals[i], &action, nullptr);
    }
    pipe_before_ = std::signal(SIGPIPE, SIG_IGN);
  }
  ~SignalPipe() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
    std::signal(SIGPIPE, pipe_before_);
  }
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  int get() const { return read_.get(); }
  std::optional<Arrived> Next() const {
    Arrived arrived{};
    if (read(read_.get(), &arrived, sizeof arrived) != sizeof arrived) return std::nullopt;
    return arrived;
  }

 private:
  static constexpr std::array<int, 5> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};
  Descriptor read_, write_;
  std::array<struct sigaction, kSignals.size()> before_{};
  void (*pipe_before_)(int) = SIG_DFL;
};

// The two ends of the program's standard output: this process reads `ours`, the program writes
// `its`.
struct Streams {
  Descriptor ours, its;
  bool terminal = false;
  std::size_t room = 0;  // [byte] buffer size; 0: too small to pause reading
  bool socket = false;
};

void CopySize(int terminal) {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) ioctl(terminal, TIOCSWINSZ, &size);
}

Streams OpenTerminal() {
  Streams streams{Descriptor(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)), Descriptor(), true, 0,
                  false};
  const int ours = streams.ours.get();
  std::array<char, 128> name{};
  if (ours < 0 || grantpt(ours) != 0 || unlockpt(ours) != 0 ||
      ptsname_r(ours, name.data(), name.size()) != 0)
    ThrowSystem("pseudo-terminal");
  streams.its = Descriptor(open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (streams.its.get() < 0) ThrowSystem(name.data());
  termios settings{};
  if (tcgetattr(streams.its.get(), &settings) != 0) ThrowSystem("tcgetattr");
  // Raw mode: only the real terminal may turn "\n" into "\r\n".
  cfmakeraw(&settings);
  if (tcsetattr(streams.its.get(), TCSANOW, &settings) != 0) ThrowSystem("tcsetattr");
  CopySize(ours);
  return streams;
}

Streams OpenPipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) ThrowSystem("pipe");
  fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes);  // the kernel may allow less
  const int room = fcntl(ends[1], F_GETPIPE_SZ);
  return {Descriptor(ends[0]), Descriptor(ends[1]), false,
          room >= static_cast<int>(kPiece) ? static_cast<std::size_t>(room) : 0, false};
}

Streams OpenSocket() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    ThrowSystem("socketpair");
  Streams streams{Descriptor(ends[0]), Descriptor(ends[1]), false, 0, true};
  const int yes = 1;
  if (setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0)
    ThrowSystem("SO_PASSCRED");
  // The kernel may allow less.
  setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &kSocketBytes, sizeof kSocketBytes);
  int room = 0;
  socklen_t size = sizeof room;
  getsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, &size);
  streams.room = static_cast<std::size_t>(room / kSocketPerByte);
  return streams;
}

Streams OpenStreams(bool pipe) {
  if (isatty(STDOUT_FILENO) == 1) return OpenTerminal();
  return pipe ? OpenPipe() : OpenSocket();
}

class ForegroundLoop {
 public:
  explicit ForegroundLoop(const ForegroundRequest& request)
      : request_(request), streams_(OpenStreams(request.pipe)) {
    result_.names_processes = streams_.socket;
    begin_ = cpu::WallSeconds();
    pid_ = StartInForeground(request.command, request.variables, STDIN_FILENO, streams_.its.get());
    streams_.its = Descriptor();
    result_.pid = pid_;
    watch_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    if (watch_.get() >= 0) return;
    const int refused = errno;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    throw BadInput("pidfd_open: {}", std::strerror(refused));
  }

  ForegroundEnd Run() {
    int wait = kMomentMs;
    bool gathering = false;
    for (bool ended = false; !ended;) {
      std::array<pollfd, 3> asked = {{{watch_.get(), POLLIN, 0},
                                      {signals_.get(), POLLIN, 0},
                                      {gathering ? -1 : streams_.ours.get(), POLLIN, 0}}};
      const int ready =
          poll(asked.data(), asked.size(), gathering ? gather_ms_ : std::min(wait, LeftMs()));
      if (ready == 0 && !gathering && request_.idle && !request_.idle(cpu::WallSeconds() - begin_))
        Close(true);
      wait = ready == 0 && !gathering ? kTickMs : kMomentMs;
      gathering = asked[2].revents != 0 && ReadPiece() && streams_.room > 0;
      if (asked[1].revents != 0) PassSignals();
      ended = asked[0].revents != 0;
      if (!ended) EndInTime();
    }
    result_.wall_seconds = cpu::WallSeconds() - begin_;
    Reap();
    ReadRest();
    return result_;
  }

 private:
  // Returns the time [ms] until most_seconds, at least 1 to avoid a busy loop.
  int LeftMs() const {
    if (!request_.most_seconds || result_.out_of_time) return kTickMs;
    const double left = begin_ + *request_.most_seconds - cpu::WallSeconds();
    return static_cast<int>(std::clamp(1e3 * left, 1.0, 1.0 * kTickMs));
  }

  void EndInTime() {
    if (!request_.most_seconds) return;
    const double late = cpu::WallSeconds() - begin_ - *request_.most_seconds;
    if (late >= 0 && !result_.out_of_time) kill(pid_, SIGTERM);
    result_.out_of_time = result_.out_of_time || late >= 0;
    if (late >= kGraceSeconds) kill(pid_, SIGKILL);
  }

  // Stops reading. `nobody_reads`: sends the writer SIGPIPE, as a pipe would, because a socket
  // reports the error only to a writer that waits for space. The socket stays open: closing it with
  // unread bytes would reset the connection.
  void Close(bool nobody_reads) {
    if (streams_.socket && streams_.ours.get() >= 0) {
      if (nobody_reads && writer_ > 0) kill(writer_, SIGPIPE);
      shutdown(streams_.ours.get(), SHUT_RDWR);
      unread_ = std::move(streams_.ours);
    }
    streams_.ours = Descriptor();
  }

  // Reads the next bytes. Calls `from` if they are from another process than the previous ones.
  ssize_t Read() {
    if (!streams_.socket) return read(streams_.ours.get(), buffer_->data(), buffer_->size());
    iovec bytes{buffer_->data(), buffer_->size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const auto got = recvmsg(streams_.ours.get(), &message, MSG_CMSG_CLOEXEC);
    const auto* facts = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (facts == nullptr || facts->cmsg_type != SCM_CREDENTIALS) return got;
    ucred writer{};
    std::memcpy(&writer, CMSG_DATA(facts), sizeof writer);
    if (writer.pid != writer_ && request_.from) request_.from(writer.pid);
    writer_ = writer.pid;
    return got;
  }

  // Reads the next bytes and passes them to `take`. Returns false at the end of the output.
  bool ReadPiece() {
    const auto got = Read();
    if (got < 0 && errno == EINTR) return true;
    // read() of a pseudo-terminal whose other end is closed fails with EIO.
    if (got <= 0 ||
        !request_.take(std::string_view(buffer_->data(), static_cast<std::size_t>(got)))) {
      Close(got > 0);
      return false;
    }
    // Adapts the pause, down to 0 ms, so that a read gets an eighth to a quarter of the buffer.
    const auto read = static_cast<std::size_t>(got);
    if (4 * read >= streams_.room)
      gather_ms_ /= 2;
    else if (8 * read < streams_.room)
      gather_ms_ = std::min(2 * gather_ms_ + 1, kGatherMs);
    return true;
  }

  void PassSignals() {
    while (const auto arrived = signals_.Next()) {
      if (arrived->signal == SIGWINCH) {
        if (streams_.terminal && streams_.ours.get() >= 0) CopySize(streams_.ours.get());
        continue;
      }
      result_.passed_signal = arrived->signal;
      if (!arrived->of_terminal && pid_ > 0) kill(pid_, arrived->signal);
    }
  }

  void Reap() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
    pid_ = -1;  // the kernel may reuse the id
    result_.end =
        WIFSIGNALED(status) ? ProcessEnd{0, WTERMSIG(status)} : ProcessEnd{WEXITSTATUS(status), 0};
  }

  // Reads on what processes write that still have the output open: until rest_seconds after the
  // program's end, or 0.2 s after it if a signal was passed on or the time was over.
  void ReadRest() {
    const double ended = cpu::WallSeconds();
    while (streams_.ours.get() >= 0) {
      const bool hurry = result_.passed_signal || result_.out_of_time;
      const double most = hurry ? kRestAfterSignalSeconds : request_.rest_seconds;
      const double left = std::max(0.0, ended + most - cpu::WallSeconds());
      std::array<pollfd, 2> asked = {
          {{streams_.ours.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}}};
      result_.left_open =
          left == 0 || poll(asked.data(), asked.size(), static_cast<int>(1e3 * left) + 1) == 0;
      if (result_.left_open) return;
      PassSignals();
      if (asked[0].revents != 0) ReadPiece();
    }
  }

  const ForegroundRequest& request_;
  SignalPipe signals_;
  Streams streams_;
  Descriptor unread_;  // the socket after Close
  std::unique_ptr<std::array<char, kPiece>> buffer_ = std::make_unique<std::array<char, kPiece>>();
  pid_t pid_ = -1;
  Descriptor watch_;
  double begin_ = 0;
  int gather_ms_ = kGatherMs;
  pid_t writer_ = 0;  // process that wrote the last bytes read
  ForegroundEnd result_;
};

}  // namespace

ForegroundEnd RunInForeground(const ForegroundRequest& request) {
  return ForegroundLoop(request).Run();
}

bool WriteToStdout(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd asked{STDOUT_FILENO, POLLOUT, 0};
      poll(&asked, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

int MessageColumns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int ExitCodeOf(const ForegroundEnd& end) {
  if (end.out_of_time) return 0;
  return end.end.signal == 0 ? end.end.exit_code : 128 + end.end.signal;
}

int ExitCodeOf(const CannotStart& cannot) { return cannot.error == ENOENT ? 127 : 126; }

}  // namespace dlroof::profile
