// Stored runs as baselines: comparing a run with all of them (each benchmark with its newest stored
// result), and checking verdicts against a second process of the same build, since one process may
// be up to 18 % faster than another in all of its repetitions. Pure.
#pragma once

#include <optional>
#include <vector>

#include "baselines/compare/compare.h"
#include "baselines/compare/paired_record.h"
#include "reporters/record/run_file.h"

namespace dlroof::compare {

// Returns context.date as [s] since 1970, if the file has a date: "2026-03-02T10:00:00+01:00" (ISO
// 8601), or "2026-03-02 10:00:00" of older versions of Google Benchmark, which is read as UTC.
// Drops fractions of a second.
std::optional<double> Moment(const record::RunFile& file);

// Compares each benchmark of `contender` with the newest run of `stored` that has it (`stored` is
// oldest first and must outlive the result). A stored result with too few clean repetitions is
// skipped if an older run has enough. BASE's level is the mean over that run and the runs before
// it, but those far from their median (statistics.md). The benchmarks of one stored run share a
// common shift. A benchmark that only stored runs have is `gone` if another benchmark of its run
// was compared. Throws BadInput where PairRecords and CheckComparable do, and if `stored` has no
// benchmark of `contender`.
CompareResult CompareWithStored(const std::vector<NamedRun>& stored, const NamedRun& contender,
                                const CompareOptions& options);

// Throws BadInput if `rerun` has another machine, settings or build than `contender`, or two
// benchmarks with one name.
void CheckRerun(const NamedRun& contender, const NamedRun& rerun);

// Makes the rows ambiguous whose verdict slower or faster the records of `rerun` do not repeat: in
// the same direction, by more than `min_effect` [1]. Counts them.
RerunCheck RetractUnlessRepeated(const NamedRun& rerun, double min_effect,
                                 std::vector<Comparison>& rows);

}  // namespace dlroof::compare
