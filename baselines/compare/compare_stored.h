// Stored runs as baselines: compares a run with each benchmark's newest stored result, and checks
// verdicts against a second process of the same build, since one process may be up to 18 % faster
// than another in all repetitions. Pure.
#pragma once

#include <optional>
#include <vector>

#include "baselines/compare/compare.h"
#include "baselines/compare/paired_record.h"
#include "reporters/record/run_file.h"

namespace dlroof::compare {

// Compares each benchmark of `contender` with the newest run of `stored` that has it (oldest first;
// must outlive the result). Skips a stored result with too few clean repetitions if an older run
// has enough. BASE's level is the mean over that run and the earlier ones, without outliers
// (statistics.md). The benchmarks compared with one stored run share a common shift. A benchmark
// missing in `contender` is kGone if another benchmark of its stored run was compared. Throws
// BadInput as PairRecords and CheckComparable, and if `stored` has no benchmark of `contender`.
CompareResult CompareWithStored(const std::vector<NamedRun>& stored, const NamedRun& contender,
                                const CompareOptions& options);

// Throws BadInput if `rerun` differs from `contender` in machine, settings or build, or has a
// benchmark name twice.
void CheckRerun(const NamedRun& contender, const NamedRun& rerun);

// Sets verdicts slower and faster to ambiguous unless `rerun` confirms them: a change in the same
// direction by more than `min_effect` [1]. Returns the counts.
RerunCheck RetractUnlessRepeated(const NamedRun& rerun, double min_effect,
                                 std::vector<Comparison>& rows);

}  // namespace dlroof::compare
