// Reads and writes whole files. A failure is one sentence with the path and the system's reason.
//
// Folders of this program: one that keeps what takes long to find out, and temporary ones.
//
// Files that the build links into the program (dlroof_embed in ci/modules.cmake).
#pragma once

#include <filesystem>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof {

// After the kill of a program its files are whole either way; after a loss of power only with kNow.
enum class OnDisk { kLater, kNow };

// Writes a plain or new file beside its place and renames it, so that it is whole or unchanged.
// Writes anything else (a pipe, a device, a link, a file that is mounted by itself) in its place.
// Throws BadInput.
void WriteFile(const std::filesystem::path& path, std::string_view text,
               OnDisk when = OnDisk::kLater);

// Returns all bytes of a file, a pipe or a device. Throws BadInput, which names `expected` ("a run
// file"): the path is a directory, cannot be read, or has more than `most_bytes`.
std::string ReadFile(const std::filesystem::path& path, std::string_view expected,
                     std::uintmax_t most_bytes = std::numeric_limits<std::uintmax_t>::max());

// Returns all bytes of a file that may be missing; empty: it cannot be read.
std::string ReadFileIfAny(const std::filesystem::path& path);

// Returns the folder of ceilings and simulated counts, $XDG_CACHE_HOME/dlroof, else
// $HOME/.cache/dlroof; absent when neither is an absolute path.
std::optional<std::filesystem::path> CacheDirectory();

// A folder of its own in the system's place for temporary files; gone, with all in it, when this
// object is.
class TemporaryFolder {
 public:
  // Throws BadInput: it cannot be made.
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

// Returns the text of the named file. Throws std::out_of_range: there is none.
inline std::string_view TextOf(const std::vector<EmbeddedFile>& files, std::string_view name) {
  for (const auto& file : files)
    if (file.name == name) return file.text;
  throw std::out_of_range("no embedded file " + std::string(name));
}

}  // namespace dlroof
