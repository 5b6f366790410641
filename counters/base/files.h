// Reads and writes whole files, finds this program's cache folder, creates temporary folders, and
// returns files that the build embeds in the program (dlroof_embed in ci/modules.cmake). An error
// message is one sentence with the path and the system's error text.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/process.h"

namespace dlroof {

// When a written file reaches the disk. kNow: before WriteFile returns (fsync). kLater: when the
// system writes its buffers; a power failure before that loses the file.
enum class OnDisk { kLater, kNow };

// Creates or replaces a regular file, or the one that a link leads to, atomically: writes a new
// file of a random name in the same folder, gives it the old one's mode and renames it. Overwrites
// anything else (a pipe, a device, a mount point) in place. Throws BadInput if that fails.
void WriteFile(const std::filesystem::path& path, std::string_view text,
               OnDisk when = OnDisk::kLater);

// Like WriteFile, but replaces a symbolic link itself, not the file that the link leads to. Use it
// in folders in which other users may create links.
void ReplaceFile(const std::filesystem::path& path, std::string_view text,
                 OnDisk when = OnDisk::kLater);

// A result that a program writes to PATH.part while it runs. Replace renames that file to PATH;
// until then an old PATH stays. A program that ends before Replace leaves PATH.part. A lock, held
// until Replace or destruction, prevents a second PartFile of the same PATH.
class PartFile {
 public:
  // Opens or creates PATH.part and keeps its content. Throws BadInput if that is impossible, if
  // PATH.part is not a regular file, or if another process has locked it.
  explicit PartFile(const std::filesystem::path& path);
  // Removes PATH.part if it is empty.
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  // Returns where to write: PATH.part, or PATH if that is a pipe or a device.
  const std::string& part() const { return part_; }
  bool IsEmpty() const;
  // Replaces the content of PATH.part atomically. Throws BadInput.
  void Write(std::string_view text);
  // Renames PATH.part, unless it is empty, to PATH with the mode of the old file. Throws BadInput
  // if that fails. Does nothing for a pipe or a device.
  void Replace();
  // Calls Replace if the result is complete. Otherwise keeps PATH.part and prints its path to
  // `log`.
  void End(bool complete, std::ostream& log);

 private:
  std::filesystem::path path_;
  std::string part_;
  Descriptor file_;  // none for a pipe or a device
};

// Locks an open file. Throws BadInput, which begins with `path`, if another process has locked it.
void LockForWriting(int fd, const std::string& path);

// Returns the path to open for reading: that of standard input for "-".
inline std::filesystem::path InputPath(const std::filesystem::path& path) {
  return path == "-" ? "/dev/stdin" : path;
}

// [byte] Maximum size of a file that is read as a whole; GPU traces are the largest such files.
inline constexpr std::uintmax_t kMaxReadBytes = std::uintmax_t{4} << 30;

// Returns all bytes of a file, a pipe or a device; "-" is standard input. Throws BadInput if the
// path is a directory, cannot be read, or contains more than `most_bytes` bytes. `expected` ("a run
// file") tells the user in the message what the path should be.
std::string ReadFile(const std::filesystem::path& path, std::string_view expected,
                     std::uintmax_t most_bytes = kMaxReadBytes);

// Throws BadInput if an output is one of the inputs, which would be lost. Both may be missing.
void RefuseInputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

// Returns all bytes of a regular file, or an empty string if there is none or it cannot be read.
std::string ReadFileIfAny(const std::filesystem::path& path);

// Returns the folder that stores measured ceilings and simulated counts: $XDG_CACHE_HOME/dlroof,
// otherwise $HOME/.cache/dlroof. Returns nullopt if neither variable is an absolute path.
std::optional<std::filesystem::path> CacheDirectory();

// Creates a folder among the system's temporary files. The destructor removes it recursively; the
// first folder of a process also removes those of killed processes.
class TemporaryFolder {
 public:
  // Throws BadInput if the folder cannot be created.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  Descriptor lock_;  // of the folder, held while this process runs
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
