// A run beside all that is stored of its machine, each benchmark with its newest result. Pure.
#pragma once

#include <vector>

#include "baselines/compare/compare.h"

namespace dlroof::compare {

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
CompareResult CompareWithStored(const std::vector<NamedRun>& stored, const NamedRun& fresh,
                                const CompareOptions& options);

// Returns each benchmark's movement since the last run that has it, less the common movement of the
// two runs. `runs` are of one machine, oldest first. The rest is its noise (and the few true
// changes).
std::vector<statistics::Shift> ShiftsBetweenRuns(const std::vector<NamedRun>& runs);

}  // namespace dlroof::compare
