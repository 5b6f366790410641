// Checks a verdict against a second process of the same build. A process may be faster or slower
// than the next one for as long as it lives (by up to 18 %). Its repetitions do not show it. Pure.
#pragma once

#include <string>
#include <vector>

#include "baselines/compare/compare.h"

namespace dlroof::compare {

// Takes a verdict slower or faster back (ambiguous, for the reason `told`) unless `fresh` is so too
// beside `base`, by more than `min_effect` [1]. Records without enough clean repetitions say
// nothing.
void HoldAgainst(const record::Record& base, const record::Record& fresh, double min_effect,
                 const std::string& told, Comparison& row);

// Throws BadInput: `again` was measured elsewhere, otherwise, or is of another build than `fresh`,
// or a name stands in it twice.
void CheckMeasuredAgain(const NamedRun& fresh, const NamedRun& again);

// The rows beside what `again` has of their benchmarks. The number of slower or faster ones that
// were taken back, and how many it does not tell of.
MeasuredAgain HoldAgainst(const NamedRun& again, double min_effect, std::vector<Comparison>& rows);

}  // namespace dlroof::compare
