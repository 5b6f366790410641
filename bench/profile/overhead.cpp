#include "bench/profile/overhead.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "counters/base/numbers.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"

namespace dlroof::profile {
namespace {

constexpr int kLines = 400;
constexpr std::size_t kOtherBytes = 1 << 20;
constexpr int kPauseMs = 2, kMaxWaitMs = 5000;
constexpr std::size_t kChunk = 1 << 16, kMaxBytes = 4096;

// Writes a line of the text as oneDNN 3 does: once to find the length, once for the line.
void WriteLine(const std::string& text, FILE* out) {
  const double stamp = 1e3 * cpu::WallSeconds();
  const auto head = std::to_string(stamp) + ",";
  const int size = std::snprintf(nullptr, 0, "%s%s,%g\n", head.c_str(), text.c_str(), stamp) + 1;
  std::string line(static_cast<std::size_t>(std::max(size, 1)), '\0');
  std::snprintf(line.data(), line.size(), "%s%s,%g\n", head.c_str(), text.c_str(), stamp);
  const auto whole = "onednn_verbose,v1," + line;
  std::fprintf(out, "%s", whole.c_str());
  std::fflush(out);
}

// The child: writes the lines, then the time of one line to `result`. It uses its caches for other
// data between the lines, as the program does.
[[noreturn]] void Write(std::size_t bytes, int lines, int result) {
  FILE* out = fdopen(lines, "w");
  const std::string text(std::min(bytes, kMaxBytes), 'x');
  std::vector<char> data(kOtherBytes, 1);
  std::vector<double> seconds;
  for (int i = 0; i < kLines; ++i) {
    for (auto& byte : data) byte = static_cast<char>(byte + 1);
    const double begin = cpu::WallSeconds();
    WriteLine(text, out);
    seconds.push_back(cpu::WallSeconds() - begin);
    asm volatile("" : : "r"(data.data()) : "memory");  // the data are used
  }
  const double median = Median(seconds);
  [[maybe_unused]] const auto written = write(result, &median, sizeof median);
  _exit(0);
}

// Reads until the writer closes its end. Returns false if it takes too long.
bool Drain(int lines) {
  std::vector<char> buffer(kChunk);
  for (;;) {
    pollfd asked{lines, POLLIN, 0};
    if (poll(&asked, 1, kMaxWaitMs) <= 0) return false;
    const auto got = read(lines, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    poll(nullptr, 0, kPauseMs);
  }
}

struct Ends {
  Descriptor read, written;
};

std::optional<Ends> Open(bool pipe) {
  std::array<int, 2> ends{};
  const int failed = pipe ? pipe2(ends.data(), O_CLOEXEC)
                          : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data());
  if (failed != 0) return std::nullopt;
  const int yes = 1;
  if (!pipe) setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);
  return Ends{Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace

std::optional<double> MeasureLineSeconds(std::size_t bytes, bool pipe) {
  auto lines = Open(pipe), result = Open(true);
  if (!lines || !result) return std::nullopt;
  const auto child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) Write(bytes, lines->written.get(), result->written.get());
  lines->written = Descriptor();
  result->written = Descriptor();
  if (!Drain(lines->read.get())) kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  double seconds = 0;
  if (read(result->read.get(), &seconds, sizeof seconds) != static_cast<ssize_t>(sizeof seconds))
    return std::nullopt;
  return seconds;
}

}  // namespace dlroof::profile
