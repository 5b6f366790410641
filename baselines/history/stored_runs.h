// Which stored runs a run is compared with: those of a folder of run files, of a branch, or before
// BASE.
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
// Reads a run file. Returns nothing for truncated run files and other JSON files (a machine).
std::optional<compare::NamedRun> ReadIfRun(const std::filesystem::path& path);

// Returns the run files under `folder` (*.json, recursively) that Compare accepts with `contender`:
// same fingerprint, conventions (but of FLOPs), threads, cache state, and a benchmark in common.
// Returns at least one, the oldest by context.date first. Skips `contender` itself and files that
// are not run files; `warnings` gets a sentence for each skipped run file of the same machine.
// `names` may map some benchmarks' names. Throws BadInput for a missing folder, a `contender`
// without a machine, no comparable file (with the number of files read), and a name of `names` that
// is in none of the returned files.
std::vector<compare::NamedRun> FindBaselines(const std::filesystem::path& folder,
                                             const compare::NamedRun& contender,
                                             const compare::NameMap& names, std::ostream& warnings);

// Returns the runs that were stored as runs of `branch`. If there are none, the runs of the commits
// `reachable` (of a branch in Git's sense, full names).
std::vector<StoredRun> RunsOfBranch(const std::vector<StoredRun>& runs, const std::string& branch,
                                    const std::set<std::string>& reachable);

// Returns the last `most` of `runs` (oldest first) that can be compared with `contender`: same
// machine, conventions (but of FLOPs), and a benchmark in common. Writes a sentence for each of the
// others that it passes over to `warnings`.
std::vector<compare::NamedRun> ChooseBaseline(const History& history,
                                              const std::vector<StoredRun>& runs, std::size_t most,
                                              const compare::NamedRun& contender,
                                              std::ostream& warnings);

// Returns the last 30 comparable runs that are older than BASE (by date; runs without a date count
// as older), oldest first: more say little more about the noise.
std::vector<compare::NamedRun> RunsBefore(const History& history, const compare::NamedRun& base);

// Returns the stored program of the newest of the runs (oldest first) that has one.
std::optional<StoredProgram> NewestProgram(const Builds& builds,
                                           const std::vector<compare::NamedRun>& runs);

}  // namespace dlroof::history
