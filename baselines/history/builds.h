// Stored programs: the executable that measured a run can be stored, so that a later build can be
// measured interleaved with it. As in a compiler cache, identical files are stored once, and the
// least recently used programs are evicted when a size limit is exceeded.
//
// FOLDER/<commit>/   hard links to executable and libraries, program.json, and "run", a start
// script FOLDER/objects/    each distinct file once, named by a hash of its content
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::history {

// [byte] Default limit of the total size of stored programs.
inline constexpr std::uintmax_t kUsualLimit = 2'000'000'000;

struct StoredProgram {
  std::string commit;
  std::string run;                 // path of the script that starts the program
  std::vector<std::string> files;  // file names: the executable first, then its libraries
};

struct Kept {
  StoredProgram program;
  std::uintmax_t added_bytes = 0;    // [byte] size of the files that were not stored before
  std::vector<std::string> evicted;  // commits whose programs were removed
  std::uintmax_t all_bytes = 0;      // [byte] total size of stored files afterwards
};

// Parses the output of ldd. Returns, in its order, the paths of libraries outside the system
// folders (/lib*, /usr/lib*, /usr/local/lib*).
std::vector<std::string> OwnLibraries(std::string_view ldd_output);

// Parses a size in bytes such as "500M", "2G" or "100000" (decimal: M is 10^6). Throws BadInput
// with the name of the flag for other text.
std::uintmax_t ParseSize(const std::string& flag, const std::string& text);

class Builds {
 public:
  explicit Builds(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Stores for `commit` (replacing its earlier program): the executable, its libraries outside the
  // system folders, and libdlroof_cuda.so if it lies beside the executable. Then evicts the least
  // recently used programs until the total is at most `most_bytes`. Throws BadInput if `commit` has
  // characters not allowed in a folder name, a file cannot be read or stored, or this program alone
  // exceeds `most_bytes`.
  Kept Keep(const std::string& commit, const std::filesystem::path& program,
            std::uintmax_t most_bytes) const;

  // Returns the commit's program and sets its time of last use to now, or nullopt if none is
  // stored. The commit may be abbreviated to at least 7 characters.
  std::optional<StoredProgram> Find(const std::string& commit) const;

  // Returns the commits that have a stored program, sorted by name.
  std::vector<std::string> Commits() const;

 private:
  std::vector<std::string> Evict(const std::string& keep, std::uintmax_t most_bytes) const;
  std::uintmax_t CollectObjects() const;
  std::uintmax_t AddFile(const std::filesystem::path& from, const std::filesystem::path& to) const;

  std::filesystem::path folder_;
};

// Returns the folder for the stored programs of a history file, such as "perf.sqlite.builds".
inline std::filesystem::path FolderBeside(const std::string& database) {
  return database + ".builds";
}

}  // namespace dlroof::history
