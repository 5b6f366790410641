// Meaning of a placement in words: findings about one record, and one sentence of advice tied to
// its numbers.
#pragma once

#include "reporters/roofline/roofline.h"

namespace dlroof {

// Adds remarks (a point above its roof and which of the two is wrong; the library's own reference
// implementation) and the advice sentence: what bounds it and by how much, the evidence of at most
// two rules (advice_rules.h), what to try next. Silent where a roof is not proved or the time is
// uncertain by half. `words`: of the file's ops. Empty: those of this program.
void AddFindings(const Record& record, const Timing& timing, const CeilingSet& ceilings,
                 const OpVocabulary& words, Placement& placement);

}  // namespace dlroof
