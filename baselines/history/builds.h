// Stored programs: the executable that measured a run can be stored, so that a later build can be
// measured interleaved with it. As in a compiler cache, identical files are stored once, and the
// least recently used programs are evicted when a size limit is exceeded.
//
// FOLDER/<commit>/: hard links to executable and libraries, program.json, and "run", a script.
// FOLDER/objects/: each distinct file once, named by a hash of its content.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/compare/paired_record.h"
#include "baselines/history/history.h"

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
  std::uintmax_t added_bytes = 0;    // [byte] size of the files that were not yet stored
  std::vector<std::string> evicted;  // commits whose programs were removed
  std::uintmax_t all_bytes = 0;      // [byte] total size of stored files afterwards
};

// Parses the output of ldd. Returns, in its order, the paths of libraries outside the system
// folders (/lib*, /usr/lib*, /usr/local/lib*).
std::vector<std::string> OwnLibraries(std::string_view ldd_output);

// Returns a size in bytes from e.g. "500M", "2G" or "100000" (M is 10^6). Throws BadInput with the
// name of the flag for other text.
std::uintmax_t ParseSize(const std::string& flag, const std::string& text);

class Builds {
 public:
  explicit Builds(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Stores the program of `commit` in place of its earlier one: the executable, its libraries
  // outside the system folders, and libdlroof_cuda.so if it is beside the executable. Then removes
  // the least recently used programs until the total is at most `most_bytes`. Throws BadInput if
  // `commit` has characters not allowed in a folder name, a file cannot be read or stored, or this
  // program alone exceeds `most_bytes`.
  Kept Keep(const std::string& commit, const std::filesystem::path& program,
            std::uintmax_t most_bytes) const;

  // Returns the commit's program and sets its time of last use to now. Returns nullopt if none is
  // stored. The commit may be abbreviated to at least 7 characters, unless one has exactly its
  // name.
  std::optional<StoredProgram> Find(const std::string& commit) const;

  // Returns the commits that have a stored program, sorted by name.
  std::vector<std::string> Commits() const;

 private:
  std::vector<std::string> Evict(const std::string& keep, std::uintmax_t most_bytes) const;
  std::uintmax_t CollectObjects() const;
  std::uintmax_t AddFile(const std::filesystem::path& from, const std::filesystem::path& to) const;

  std::filesystem::path folder_;
};

// Returns the folder for the stored programs of a history file, e.g. "perf.sqlite.builds".
inline std::filesystem::path FolderBeside(const std::string& database) {
  return database + ".builds";
}

// Returns all *.json files below `folder`, sorted by path. Throws BadInput if it is not a folder.
std::vector<std::filesystem::path> JsonFiles(const std::filesystem::path& folder);
// Reads a run file. Returns nullopt for a truncated run file and for JSON files of other kinds.
std::optional<compare::NamedRun> ReadIfRun(const std::filesystem::path& path);

// Returns the run files under `folder` (*.json, recursively) that can be compared with `contender`:
// same machine, conventions (except of FLOPs), threads and cache state, and at least one common
// benchmark (`names` maps old names to new ones). Sorted by date, oldest first; never empty. Skips
// `contender` itself and files that are not run files; writes to `warnings` why it skips other runs
// of this machine. Throws BadInput for a missing folder, a `contender` without a machine, no
// comparable run, and a name in `names` that no returned run has.
std::vector<compare::NamedRun> FindBaselines(const std::filesystem::path& folder,
                                             const compare::NamedRun& contender,
                                             const compare::NameMap& names, std::ostream& warnings);

// Returns the runs stored with the branch name `branch`. If there are none, returns runs stored
// without a branch whose commit is in `reachable` (full hashes of the commits of a Git branch).
std::vector<StoredRun> RunsOfBranch(const std::vector<StoredRun>& runs, const std::string& branch,
                                    const std::set<std::string>& reachable);

// Returns the newest `most` of those `runs` (oldest first) that can be compared with `contender`,
// see FindBaselines. Writes to `warnings` why a run is skipped.
std::vector<compare::NamedRun> ChooseBaseline(const History& history,
                                              const std::vector<StoredRun>& runs, std::size_t most,
                                              const compare::NamedRun& contender,
                                              std::ostream& warnings);

// Returns the newest 30 runs before `base` that can be compared with it, oldest first, to estimate
// noise. Runs without a date are before `base`; if `base` has no date, all runs are.
std::vector<compare::NamedRun> RunsBefore(const History& history, const compare::NamedRun& base);

// Returns the stored program of the newest run that has one, or nullopt. `runs`: oldest first.
std::optional<StoredProgram> NewestProgram(const Builds& builds,
                                           const std::vector<compare::NamedRun>& runs);

}  // namespace dlroof::history
