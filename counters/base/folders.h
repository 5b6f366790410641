// Folders of this program: one that keeps what takes long to find out, and temporary ones.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace dlroof {

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

}  // namespace dlroof
