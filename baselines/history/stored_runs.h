// Selects the stored runs that a new run is compared with: from a folder of run files, from a
// branch of a history, or from the time before a given run.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "baselines/compare/paired_record.h"
#include "baselines/history/builds.h"
#include "baselines/history/history.h"

namespace dlroof::history {

// Returns the paths of all *.json files under `folder`, recursively, sorted. Throws BadInput if it
// is not a folder.
std::vector<std::filesystem::path> JsonFiles(const std::filesystem::path& folder);
// Reads a run file. Returns nullopt for a truncated run file and for other JSON files.
std::optional<compare::NamedRun> ReadIfRun(const std::filesystem::path& path);

// Returns the run files under `folder` (*.json, recursively) that can be compared with `contender`:
// same machine, conventions (except of FLOPs), threads and cache state, and at least one common
// benchmark (`names` maps old names to new ones). Sorted by date, oldest first; never empty. Skips
// `contender` itself and files that are not run files; says in `warnings` why other runs of this
// machine are skipped. Throws BadInput for a missing folder, a `contender` without a machine, no
// comparable run, and a name in `names` that no returned run has.
std::vector<compare::NamedRun> FindBaselines(const std::filesystem::path& folder,
                                             const compare::NamedRun& contender,
                                             const compare::NameMap& names, std::ostream& warnings);

// Returns the runs stored with the branch name `branch`. If there are none, returns runs stored
// without a branch whose commit is in `reachable` (full hashes of the commits of a Git branch).
std::vector<StoredRun> RunsOfBranch(const std::vector<StoredRun>& runs, const std::string& branch,
                                    const std::set<std::string>& reachable);

// Returns the last `most` of `runs` (oldest first) that can be compared with `contender`, see
// FindBaselines. Says in `warnings` why a run is skipped.
std::vector<compare::NamedRun> ChooseBaseline(const History& history,
                                              const std::vector<StoredRun>& runs, std::size_t most,
                                              const compare::NamedRun& contender,
                                              std::ostream& warnings);

// Returns the last 30 comparable runs older than `base`, oldest first, to estimate the noise. Runs
// without a date count as older.
std::vector<compare::NamedRun> RunsBefore(const History& history, const compare::NamedRun& base);

// Returns the stored program of the newest run that has one. `runs`: oldest first.
std::optional<StoredProgram> NewestProgram(const Builds& builds,
                                           const std::vector<compare::NamedRun>& runs);

}  // namespace dlroof::history
