#include "counters/base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "counters/base/error.h"

namespace dlroof {
namespace {

namespace fs = std::filesystem;

std::error_code SystemError() { return {errno, std::generic_category()}; }

// A pipe or /dev/null cannot be synchronized, and need not be.
bool Synchronized(int fd) { return fsync(fd) == 0 || errno == EINVAL || errno == EROFS; }

std::error_code WriteInPlace(const fs::path& path, std::string_view text, OnDisk when) {
  std::FILE* file = std::fopen(path.c_str(), "wbe");
  if (file == nullptr) return SystemError();
  std::error_code first;
  const auto note = [&](bool done) {
    if (!done && !first) first = SystemError();
  };
  note(std::fwrite(text.data(), 1, text.size(), file) == text.size());
  note(std::fflush(file) == 0);
  if (when == OnDisk::kNow) note(Synchronized(fileno(file)));
  note(std::fclose(file) == 0);
  return first;
}

// The name itself survives a power failure only after its folder is synchronized.
void SyncFolderOf(const fs::path& path) {
  const int folder =
      open(fs::absolute(path).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  fsync(folder);
  close(folder);
}

std::error_code WriteAndRename(const fs::path& path, std::string_view text, OnDisk when) {
  const fs::path temporary = path.string() + fmt::format(".{}.tmp", getpid());
  auto error = WriteInPlace(temporary, text, when);
  if (!error) fs::rename(temporary, path, error);
  if (error) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
  } else if (when == OnDisk::kNow) {
    SyncFolderOf(path);
  }
  return error;
}

// Reads at most one byte more than `most_bytes`.
std::error_code ReadAll(const fs::path& path, std::uintmax_t most_bytes, std::string& text) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return SystemError();
  std::error_code error;
  char buffer[1 << 16];
  while (text.size() <= most_bytes) {
    const auto got = read(file, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error = SystemError();
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close(file);
  return error;
}

std::optional<fs::path> AbsolutePathIn(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || !fs::path(text).is_absolute()) return std::nullopt;
  return fs::path(text);
}

// mkdtemp replaces the last six characters to make the name unique.
constexpr std::size_t kUnique = 6;

}  // namespace

void WriteFile(const fs::path& path, std::string_view text, OnDisk when) {
  std::error_code error;
  const auto kind = fs::symlink_status(path, error).type();
  const bool plain = kind == fs::file_type::regular || kind == fs::file_type::not_found;
  error = plain ? WriteAndRename(path, text, when) : WriteInPlace(path, text, when);
  // rename cannot replace a mount point.
  if (plain && error == std::errc::device_or_resource_busy) error = WriteInPlace(path, text, when);
  if (error) throw BadInput("{}: cannot be written: {}", path.string(), error.message());
}

std::string ReadFile(const fs::path& path, std::string_view expected, std::uintmax_t most_bytes) {
  std::string text;
  if (const auto error = ReadAll(path, most_bytes, text))
    throw BadInput("{}: cannot be read: {}; expected {}", path.string(), error.message(), expected);
  if (text.size() > most_bytes)
    throw BadInput("{}: has more than {} bytes; expected {}", path.string(), most_bytes, expected);
  return text;
}

std::string ReadFileIfAny(const fs::path& path) {
  std::string text;
  if (ReadAll(path, std::numeric_limits<std::uintmax_t>::max(), text)) return "";
  return text;
}

std::optional<fs::path> CacheDirectory() {
  if (const auto cache = AbsolutePathIn("XDG_CACHE_HOME")) return *cache / "dlroof";
  if (const auto home = AbsolutePathIn("HOME")) return *home / ".cache" / "dlroof";
  return std::nullopt;
}

TemporaryFolder::TemporaryFolder()
    : path_((fs::temp_directory_path() / "dlroof-").string() + std::string(kUnique, 'X')) {
  if (mkdtemp(path_.data()) == nullptr)
    throw BadInput("{}: this temporary folder cannot be made: {}; set TMPDIR to a writable folder",
                   path_, std::strerror(errno));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace dlroof
