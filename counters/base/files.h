// Reads and writes whole files, finds this program's cache folder, makes temporary folders, and
// looks up files that the build links into the program (dlroof_embed in ci/modules.cmake). An error
// message is one sentence with the path and the system's reason.
#pragma once

#include <filesystem>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof {

// A file that was written survives the end of the program in both cases, and a power failure only
// with kNow (fsync).
enum class OnDisk { kLater, kNow };

// Replaces a regular or new file atomically: writes a temporary file beside it and renames it.
// Writes anything else (a pipe, a device, a link, a file that is a mount point) in place. Throws
// BadInput.
void WriteFile(const std::filesystem::path& path, std::string_view text,
               OnDisk when = OnDisk::kLater);

// Returns all bytes of a file, a pipe or a device. Throws BadInput if the path is a directory,
// cannot be read, or has more than `most_bytes`; the message names `expected` ("a run file").
std::string ReadFile(const std::filesystem::path& path, std::string_view expected,
                     std::uintmax_t most_bytes = std::numeric_limits<std::uintmax_t>::max());

// Returns all bytes of a file, or an empty string if it does not exist or cannot be read.
std::string ReadFileIfAny(const std::filesystem::path& path);

// Returns the folder for measured ceilings and simulated counts: $XDG_CACHE_HOME/dlroof, otherwise
// $HOME/.cache/dlroof. Returns nullopt if neither variable is an absolute path.
std::optional<std::filesystem::path> CacheDirectory();

// A new folder among the system's temporary files. The destructor removes it with its contents.
class TemporaryFolder {
 public:
  // Throws BadInput if the folder cannot be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // The path of a file in it.
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

struct EmbeddedFile {
  std::string_view name;  // without folder and extension
  std::string_view text;
  std::string_view sha256;  // 64 hexadecimal digits, of the text
};

// Returns the text of the named file. Throws std::out_of_range if there is no such file.
inline std::string_view TextOf(const std::vector<EmbeddedFile>& files, std::string_view name) {
  for (const auto& file : files)
    if (file.name == name) return file.text;
  throw std::out_of_range("no embedded file " + std::string(name));
}

}  // namespace dlroof
