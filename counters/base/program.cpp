#include "counters/base/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <numeric>
#include <system_error>

#include "counters/base/error.h"
#include "counters/base/json_text.h"
#include "counters/base/process.h"
#include "counters/base/version.h"

namespace dlroof {
namespace {

constexpr int kBug = 70;  // EX_SOFTWARE of sysexits.h

// Opens /dev/null in place of closed standard streams. A write to standard output fails then, as a
// write to the closed stream would.
void OpenClosedStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) == -1)
      // The system takes the smallest free number, which is `stream`.
      static_cast<void>(open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY));
}

// [1] Returns the optimal string alignment distance: the smallest number of insertions, deletions,
// replacements and swaps of adjacent characters that turn one text into the other.
int EditDistance(std::string_view from, std::string_view to) {
  // Distances between the first i - 2, i - 1 and i characters of `from` and each prefix of `to`.
  std::vector<int> before(to.size() + 1), last(to.size() + 1), row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= from.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = static_cast<int>(i);
    for (std::size_t k = 1; k <= to.size(); ++k) {
      row[k] = std::min({last[k] + 1, row[k - 1] + 1, last[k - 1] + (from[i - 1] != to[k - 1])});
      if (i > 1 && k > 1 && from[i - 1] == to[k - 2] && from[i - 2] == to[k - 1])
        row[k] = std::min(row[k], before[k - 2] + 1);
    }
  }
  return row.back();
}

// Terminate handler: exits with code 2 after std::bad_alloc, otherwise aborts. nlohmann::json
// allocates in destructors, and an exception that leaves a destructor calls this handler.
void EndWithoutMemory() {
  constexpr std::string_view kText = "there is not enough memory for this\n";
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc&) {
    static_cast<void>(!write(STDERR_FILENO, kText.data(), kText.size()));
    _exit(2);
  } catch (...) {
  }
  std::abort();
}

namespace fs = std::filesystem;

bool IsFolder(const fs::path& path) {
  std::error_code none;
  return fs::is_directory(path, none);
}

std::string Prefix(const BadInput::Place& at) {
  std::string prefix = at.where;
  if (at.line > 0) prefix += fmt::format(":{}", at.line);
  if (!prefix.empty()) prefix += ": ";
  if (at.column > 0) prefix += fmt::format("column {}: ", at.column);
  return prefix;
}

}  // namespace

BadInput::BadInput(const Place& at, const std::string& fault)
    : runtime_error(Prefix(at) + fault), place(at), text(fault) {}

int RunProgram(const char* name, const std::function<int()>& run) {
  OpenClosedStreams();
  std::set_terminate(EndWithoutMemory);
  const auto fail = [&](const std::string& sentence, int exit_code) {
    std::cerr << name << ": " << Printable(sentence) << '\n';
    return StoppedByInterrupt() ? InterruptCode() : exit_code;
  };
  int code = 0;
  try {
    code = run();
  } catch (const BadInput& error) {
    code = fail(error.what(), 2);
  } catch (const std::bad_alloc&) {
    code = fail("there is not enough memory for this", 2);
  } catch (const std::filesystem::filesystem_error& error) {
    code = fail(error.path1().string() + ": " + error.code().message(), 2);
  } catch (const std::system_error& error) {
    code = fail(error.code().message(), 2);
  } catch (const std::exception& error) {
    code = fail(fmt::format("{}; this is a bug of dlroof {}: please report it with the command",
                            error.what(), kVersion),
                kBug);
  }
  if (std::cout.flush().good() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::cerr << name << ": standard output: not all could be written (disk full or closed?)\n";
  return 2;
}

std::optional<std::string> NearestName(std::string_view name,
                                       const std::vector<std::string>& candidates) {
  std::optional<std::string> nearest;
  int least = 0;
  for (const auto& candidate : candidates) {
    const int distance = EditDistance(name, candidate);
    const auto longer = std::max(name.size(), candidate.size());
    if (distance > static_cast<int>((longer + 2) / 3) || (nearest && distance >= least)) continue;
    nearest = candidate;
    least = distance;
  }
  return nearest;
}

std::string UnknownName(std::string_view kind, std::string_view name,
                        const std::optional<std::string>& nearest, std::string_view program) {
  const auto suggestion = nearest ? fmt::format("did you mean '{}'? ", *nearest) : std::string();
  return fmt::format("unknown {} '{}'; {}{} --help lists all", kind, name, suggestion, program);
}

fs::path ProgramPath() {
  std::error_code none;
  return fs::read_symlink("/proc/self/exe", none);
}

std::optional<Installation> InstallationOf(const fs::path& program) {
  if (!program.is_absolute()) return std::nullopt;  // "" (unknown) is not the working folder
  const auto folder = program.parent_path();
  const auto prefix = folder.parent_path();
  if (folder.filename() == "bin" && IsFolder(prefix / "share/dlroof"))
    return Installation{folder, prefix / "lib/dlroof", prefix / "share/dlroof"};
  if (IsFolder(folder / "share/dlroof"))
    return Installation{folder, folder, folder / "share/dlroof"};
  return std::nullopt;
}

std::optional<Installation> ThisInstallation() {
  if (auto own = InstallationOf(ProgramPath())) return own;
  const auto dlroof = FoundInPath("dlroof");
  return dlroof ? InstallationOf(*dlroof) : std::nullopt;
}

std::optional<fs::path> DataFolder() {
  if (const char* const chosen = std::getenv("DLROOF_DATA"); chosen != nullptr && *chosen != '\0')
    return chosen;
  const auto installation = ThisInstallation();
  return installation ? std::optional(installation->data) : std::nullopt;
}

}  // namespace dlroof
