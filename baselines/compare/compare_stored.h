// Stored run files as baselines: which of a folder answer to a new run, and when a run was made.
//
// A run beside all that is stored of its machine, each benchmark with its newest result. Pure.
//
// Checks a verdict against a second process of the same build. A process may be faster or slower
// than the next one for as long as it lives (by up to 18 %). Its repetitions do not show it. Pure.
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

// All *.json under `folder`, folders in it too, sorted. Throws BadInput where it is none.
std::vector<std::filesystem::path> JsonFiles(const std::filesystem::path& folder);
// Absent for a file that is no run file (a study's table, a machine), or one that was cut off.
std::optional<NamedRun> ReadIfRun(const std::filesystem::path& path);

// Returns the run files under `folder` (*.json, folders in it too) that Compare accepts beside
// `fresh`: same fingerprint, conventions, threads, cache state, and a benchmark in common; at least
// one, oldest first by context.date. `fresh` itself and files that are no run files are passed
// over; `warnings` gets a sentence for each run file of the same machine that was. `names` may map
// the benchmarks of some. Throws BadInput: no such folder, `fresh` names no machine, nothing found
// (with how many files were looked at), or a mapped name that none of those found has.
std::vector<NamedRun> FindBaselines(const std::filesystem::path& folder, const NamedRun& contender,
                                    const NameMap& names, std::ostream& warnings);

// [s] since 1970 of context.date: "2026-03-02T10:00:00+01:00" (ISO 8601), or with a space for the T
// and without an offset, as older versions of Google Benchmark write it, which is taken as UTC.
// Fractions of a second are left out. 0, older than all, where a file has none.
double Moment(const record::RunFile& file);

// Stored runs need not hold the same benchmarks. Each one of `fresh` is compared with that of the
// newest of `stored` (oldest first; they must outlive the result) that has it; a stored result with
// too few clean repetitions is passed over where an older run has a better one. Slower or faster it
// is only if it is so, by more than the minimum effect, beside the run before that one too, where
// there is one: else ambiguous. Drift that two runs
// differ by as a whole (noise, drift, common movement, settings) is judged for each stored run by
// itself: `parts`. Rows, counts, alerts and residuals are those of all parts, the
// exit code is the worst one (slower, then judged, then cannot say), effect and noise are the
// newest part's; a common movement and what else differs stand at the parts unless there is one
// alone. Benchmarks that only stored runs have are `gone` where something else of their run was
// compared. Throws BadInput as PairRecords and CheckComparable do, and where `stored` has no
// benchmark of `fresh`.
CompareResult CompareWithStored(const std::vector<NamedRun>& stored, const NamedRun& contender,
                                const CompareOptions& options);

// Returns each benchmark's movement since the last run that has it, less the common movement of the
// two runs. `runs` are of one machine, oldest first. The rest is its noise (and the few true
// changes).
std::vector<statistics::Shift> ShiftsBetweenRuns(const std::vector<NamedRun>& runs);

// Takes a verdict slower or faster back (ambiguous, for the reason `told`) unless `fresh` is so too
// beside `base`, by more than `min_effect` [1]. Records without enough clean repetitions say
// nothing.
void RetractUnlessRepeated(const record::Record& base, const record::Record& contender, double min_effect,
                 const std::string& told, Comparison& row);

// Throws BadInput: `again` was measured elsewhere, otherwise, or is of another build than `fresh`,
// or a name stands in it twice.
void CheckRerun(const NamedRun& contender, const NamedRun& again);

// The rows beside what `again` has of their benchmarks. The number of slower or faster ones that
// were taken back, and how many it does not tell of.
RerunCheck RetractUnlessRepeated(const NamedRun& again, double min_effect, std::vector<Comparison>& rows);

}  // namespace dlroof::compare
