// Stored run files as baselines: finding those that are comparable with a new run, comparing a run
// with all of them (each benchmark with its newest stored result), and checking verdicts against a
// second process of the same build. A process may be faster or slower than the next one for its
// whole life (by up to 18 %), which its repetitions do not show. Pure, but for reading the files.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "baselines/compare/compare.h"
#include "baselines/compare/paired_record.h"
#include "reporters/record/run_file.h"

namespace dlroof::compare {

// Returns all *.json under `folder`, recursively, sorted. Throws BadInput if it is not a folder.
std::vector<std::filesystem::path> JsonFiles(const std::filesystem::path& folder);
// Returns nothing for other files (a study's table, a machine) and truncated run files.
std::optional<NamedRun> ReadIfRun(const std::filesystem::path& path);

// Returns the run files under `folder` (*.json, recursively) that Compare accepts with `contender`:
// same fingerprint, conventions, threads, cache state, and a benchmark in common. There is at least
// one; the oldest by context.date is first. Skips `contender` itself and files that are not run
// files; `warnings` gets a sentence for each skipped run file of the same machine. `names` may map
// some benchmarks' names. Throws BadInput for a missing folder, a `contender` without a machine, no
// comparable file (with the number of files read), and a mapped name that no file found has.
std::vector<NamedRun> FindBaselines(const std::filesystem::path& folder, const NamedRun& contender,
                                    const NameMap& names, std::ostream& warnings);

// Returns context.date as [s] since 1970, if the file has one: "2026-03-02T10:00:00+01:00" (ISO
// 8601), or with a space for the T and without an offset, as older versions of Google Benchmark
// write it, which is read as UTC. Fractions of a second are dropped.
std::optional<double> Moment(const record::RunFile& file);

// Compares each benchmark of `contender` with the newest of `stored` that has it (oldest first;
// they must outlive the result); a stored result with too few clean repetitions is skipped if an
// older run has a better one. A benchmark is slower or faster only if it is so, by more than the
// minimum effect, against the run before that one as well; otherwise it is ambiguous. Differences
// between whole runs (noise, drift, common shift, settings) are judged for each stored run
// separately, in `parts`. Rows, counts, alerts and residuals are those of all parts. The exit code
// is the worst one (slower, then judged, then cannot say), effect and noise are the newest part's.
// With several parts only the parts have the common shift and the context changes. Benchmarks that
// only stored runs have are `gone` if another benchmark of their run was compared. Throws BadInput
// where PairRecords and CheckComparable do, and if `stored` has no benchmark of `contender`.
CompareResult CompareWithStored(const std::vector<NamedRun>& stored, const NamedRun& contender,
                                const CompareOptions& options);

// Returns each benchmark's shift since the last run that has it, less the common shift of the two
// runs: the noise between runs (and the few true changes). `runs` are of one machine, oldest first.
std::vector<statistics::Shift> ShiftsBetweenRuns(const std::vector<NamedRun>& runs);

// Changes a verdict slower or faster to ambiguous, with `reason`, unless `contender` moved the same
// way against `base` by more than `min_effect` [1]. Does nothing if one of the records has too few
// clean repetitions.
void RetractUnlessRepeated(const record::Record& base, const record::Record& contender,
                           double min_effect, const std::string& reason, Comparison& row);

// Throws BadInput if `rerun` is of another machine, other settings or another build than
// `contender`, or has a name twice.
void CheckRerun(const NamedRun& contender, const NamedRun& rerun);

// Checks the verdicts of the rows against the records of `rerun`, and counts the results.
RerunCheck RetractUnlessRepeated(const NamedRun& rerun, double min_effect,
                                 std::vector<Comparison>& rows);

}  // namespace dlroof::compare
