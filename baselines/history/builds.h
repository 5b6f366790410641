// Stored programs: a stored run may keep the program that measured it, so that a later build can be
// measured interleaved with it. As in a compiler cache, equal files are stored once, and the
// programs that were not used for the longest time go when a size is exceeded.
//
// FOLDER/<commit>/   hard links to the program's files, "program.json", and "run", which starts the
//                    program with its own libraries
// FOLDER/objects/    each different file once, named by its content
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::history {

// [byte] Most bytes that stored programs may take, unless the user says otherwise.
inline constexpr std::uintmax_t kUsualLimit = 2'000'000'000;

struct StoredProgram {
  std::string commit;
  std::string run;                 // path of the file that starts the program
  std::vector<std::string> files;  // names: the program, then its libraries
};

struct Kept {
  StoredProgram program;
  std::uintmax_t added_bytes = 0;    // [byte] of files that were not stored before
  std::vector<std::string> evicted;  // commits whose programs were removed
  std::uintmax_t all_bytes = 0;      // [byte] of all stored files afterwards
};

// Parses ldd's output. Returns the paths of the libraries that are not the system's (outside of
// /lib*, /usr/lib* and /usr/local/lib*), in their order.
std::vector<std::string> OwnLibraries(std::string_view ldd_output);

// Parses a size such as "500M", "2G" or "100000" (decimal: M is 10^6 byte). Throws BadInput, which
// names the flag, for other text.
std::uintmax_t ParseSize(const std::string& flag, const std::string& text);

class Builds {
 public:
  explicit Builds(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Stores the program for `commit` (in place of an earlier one): its file, the libraries that it
  // loads and that are not the system's, and libdlroof_cuda.so beside it. Then removes the programs
  // that were not used for the longest time until all take at most `most_bytes`. Throws BadInput if
  // `commit` is not a commit's name or a similar word, a file cannot be read or stored, or this
  // program alone takes more than `most_bytes`.
  Kept Keep(const std::string& commit, const std::filesystem::path& program,
            std::uintmax_t most_bytes) const;

  // Returns the program of the commit, if it is stored, and marks it as used now. A commit may be
  // abbreviated to at least 7 characters.
  std::optional<StoredProgram> Find(const std::string& commit) const;

  // Returns the commits with a program, sorted.
  std::vector<std::string> Commits() const;

 private:
  std::vector<std::string> Evict(const std::string& keep, std::uintmax_t most_bytes) const;
  std::uintmax_t CollectObjects() const;
  std::uintmax_t AddFile(const std::filesystem::path& from, const std::filesystem::path& to) const;

  std::filesystem::path folder_;
};

// Returns the folder of the programs of a history's runs: "perf.sqlite.builds".
inline std::filesystem::path FolderBeside(const std::string& database) {
  return database + ".builds";
}

}  // namespace dlroof::history
