#include "bench/profile/overhead.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "counters/base/error.h"
#include "counters/base/numbers.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"
#include "reporters/text/numbers.h"

namespace dlroof::profile {
namespace {

// [byte] Longer lines are cut: std::regex recurses as deeply as a match is long.
constexpr std::size_t kLongestLine = 4096;

constexpr int kLines = 400;
constexpr std::size_t kOtherBytes = 1 << 20;
constexpr int kPauseMs = 2, kMaxWaitMs = 5000;
constexpr std::size_t kPiece = 1 << 16, kMaxBytes = 4096;

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
  std::vector<char> buffer(kPiece);
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

std::regex NumberPattern(const std::string& flag, const std::string& text) {
  std::optional<std::regex> pattern;
  try {
    pattern.emplace(text, std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    throw BadInput("{} '{}': not a regular expression: {}", flag, text, error.what());
  }
  if (pattern->mark_count() != 1)
    throw BadInput("{} '{}': expected one group in round brackets, the number; got {}", flag, text,
                   pattern->mark_count());
  return *pattern;
}

std::vector<double> NumbersIn(std::string_view text, const std::regex& pattern) {
  std::vector<double> numbers;
  while (!text.empty()) {
    const auto end = text.find_first_of("\n\r");
    const auto line = text.substr(0, std::min(end, kLongestLine));
    for (std::cregex_iterator match(line.data(), line.data() + line.size(), pattern), none;
         match != none; ++match) {
      const auto group = (*match)[1].str();
      if (const auto number = text::PlainNumber(group.substr(group.starts_with('+') ? 1 : 0)))
        numbers.push_back(*number);
    }
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return numbers;
}

bool ReportOverhead(const OverheadRequest& request, std::ostream& messages) {
  std::optional<std::regex> pattern;
  if (request.read) pattern = NumberPattern("--read", *request.read);
  const auto value_of = [&](const OverheadRequest::Run& run) -> std::optional<double> {
    if (!pattern) return run.end.wall_seconds;
    const auto numbers = NumbersIn(run.output, *pattern);
    if (numbers.empty() || Median(numbers) <= 0) return std::nullopt;
    return Median(numbers);
  };
  std::vector<double> ratios, cpu_ratios;
  for (int turn = 0; turn < request.turns; ++turn) {
    std::array<OverheadRequest::Run, 2> runs;  // without, with
    for (const bool with : {turn % 2 == 1, turn % 2 == 0}) {
      runs[with ? 1 : 0] = request.run(with);
      if (!runs[with ? 1 : 0].end.passed_signal) continue;
      Say(messages, "interrupted: the overhead is not known");
      return false;
    }
    const auto without = value_of(runs[0]), with = value_of(runs[1]);
    if (!without || !with) {
      Say(messages,
          "the overhead is not known: --read '{}' matches no number above 0 in the output",
          *request.read);
      return false;
    }
    ratios.push_back(*with / *without);
    if (runs[0].end.cpu_seconds > 0 && runs[1].end.cpu_seconds > 0)
      cpu_ratios.push_back(runs[1].end.cpu_seconds / runs[0].end.cpu_seconds);
  }
  const auto report = [&](std::string_view of, const std::vector<double>& all) {
    if (all.empty()) return;
    const auto [least, most] = std::ranges::minmax(all);
    Say(messages, "{} with {} over without, {} turn{}: {:.3f} ({:.3f} to {:.3f})", of, request.what,
        all.size(), all.size() == 1 ? "" : "s", Median(all), least, most);
  };
  report(pattern ? "number read" : "wall time", ratios);
  // System load changes the wall time, but hardly the CPU time.
  if (request.cpu_time) report("CPU time", cpu_ratios);
  return true;
}

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
