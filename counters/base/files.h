// Reads and writes whole files, finds this program's cache folder, creates temporary folders, and
// returns files that the build embeds in the program (dlroof_embed in ci/modules.cmake). An error
// message is one sentence with the path and the system's error text.
#pragma once

#include <filesystem>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof {

// When a written file reaches the disk: kNow before WriteFile returns (fsync); kLater when the
// system writes it, so that a power failure may lose it.
enum class OnDisk { kLater, kNow };

// Creates or replaces a regular file atomically: writes a temporary file in the same folder and
// renames it. Overwrites anything else (a pipe, a device, a link, a mount point) in place. Throws
// BadInput if the file cannot be written.
void WriteFile(const std::filesystem::path& path, std::string_view text,
               OnDisk when = OnDisk::kLater);

// Returns all bytes of a file, a pipe or a device. Throws BadInput if the path is a directory,
// cannot be read, or contains more than `most_bytes` bytes. `expected` ("a run file") tells the
// user in the message what the path should be.
std::string ReadFile(const std::filesystem::path& path, std::string_view expected,
                     std::uintmax_t most_bytes = std::numeric_limits<std::uintmax_t>::max());

// Returns all bytes of a file, or an empty string if it does not exist or cannot be read.
std::string ReadFileIfAny(const std::filesystem::path& path);

// Returns the folder that stores measured ceilings and simulated counts: $XDG_CACHE_HOME/dlroof,
// otherwise $HOME/.cache/dlroof. Returns nullopt if neither variable is an absolute path.
std::optional<std::filesystem::path> CacheDirectory();

// Creates a folder among the system's temporary files. The destructor removes it recursively.
class TemporaryFolder {
 public:
  // Throws BadInput if the folder cannot be created.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Returns the path of the file `name` in the folder.
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

struct EmbeddedFile {
  std::string_view name;  // file name without folder and extension
  std::string_view text;
  std::string_view sha256;  // hash of `text`, 64 hexadecimal digits
};

// Returns the text of the named file. Throws std::out_of_range if there is no such file.
inline std::string_view TextOf(const std::vector<EmbeddedFile>& files, std::string_view name) {
  for (const auto& file : files)
    if (file.name == name) return file.text;
  throw std::out_of_range("no embedded file " + std::string(name));
}

}  // namespace dlroof
