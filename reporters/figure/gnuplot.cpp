#include "reporters/figure/gnuplot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "counters/base/error.h"
#include "reporters/text/text.h"

extern char** environ;

namespace dlroof {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// A file without a name: nothing to clean up, and no pipe that could fill while nobody reads it.
File Unnamed() {
  File file(std::tmpfile(), &std::fclose);
  if (!file) throw BadInput(fmt::format("gnuplot: no temporary file: {}", std::strerror(errno)));
  return file;
}

std::string Contents(std::FILE* file) {
  std::string text;
  char buffer[4096];
  std::rewind(file);
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, n);
  return text;
}

// gnuplot's own settings files are left out (--default-settings): the same file gives the same
// picture everywhere.
int Spawn(std::FILE* in, std::FILE* out, std::FILE* err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(err), STDERR_FILENO);
  std::string program = "gnuplot", option = "--default-settings", standard_input = "-";
  char* arguments[] = {program.data(), option.data(), standard_input.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, "gnuplot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT)
    throw BadInput("gnuplot is not installed, so there is no figure (apt-get install gnuplot-nox)");
  if (error != 0)
    throw BadInput(fmt::format("gnuplot cannot be started: {}", std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// gnuplot echoes the line, points at the place, then says what is wrong.
std::string LastLine(const std::string& text) {
  const auto end = text.find_last_not_of(" \r\n");
  if (end == std::string::npos) return "no message";
  const auto start = text.find_last_of('\n', end);
  return text.substr(start + 1, end - start);
}

bool IsHarmless(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         byte >= 0x80 || std::strchr(" _.,:;/+-=()%<>|~*^#", c) != nullptr;
}

}  // namespace

std::string GnuplotText(std::string_view text) {
  std::string harmless = "'";
  for (const char c : Printable(text)) harmless += c != '\0' && IsHarmless(c) ? c : '_';
  return harmless + "'";
}

std::string RunGnuplot(const std::string& script) {
  const File in = Unnamed(), out = Unnamed(), err = Unnamed();
  if (std::fwrite(script.data(), 1, script.size(), in.get()) != script.size() ||
      std::fflush(in.get()) != 0)
    throw BadInput(fmt::format("gnuplot: cannot write its script: {}", std::strerror(errno)));
  std::rewind(in.get());
  const int status = Spawn(in.get(), out.get(), err.get());
  auto picture = Contents(out.get());
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || picture.empty())
    throw BadInput(fmt::format("gnuplot failed: {}", LastLine(Contents(err.get()))));
  return picture;
}

}  // namespace dlroof
