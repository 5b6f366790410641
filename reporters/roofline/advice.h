// Meaning of a placement in words: findings about one record, and one sentence of advice tied to
// its numbers. A table has the evidence beside the bound, and the next thing to try.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ceilings/machine/machine.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::roofline {

// All that a rule may look at.
struct AdviceCase {
  const record::Record& record;
  const TimePoint& time;
  const machine::CeilingSet& ceilings;
  std::string_view noun;  // for one call of the op: "convolution"
};

// One row. `evidence` is a clause with its number, absent where the rule's threshold is not
// reached; `next` is what to try then, a clause.
struct AdviceRule {
  std::string_view name;
  std::optional<std::string> (*evidence)(const AdviceCase&);
  std::string_view next;
};

// The weightiest first.
std::span<const AdviceRule> AdviceRules();

// Adds remarks (a point above its roof and which of the two is wrong; the library's own reference
// implementation) and the advice sentence: what bounds it and by how much, the evidence of at most
// two rules, what to try next. Silent where a roof is not validated or the time is
// uncertain by half. `words`: of the file's ops. Empty: those of this program.
void AddFindings(const record::Record& record, const record::Timing& timing,
                 const machine::CeilingSet& ceilings, const OpVocabulary& words,
                 Placement& placement);

}  // namespace dlroof::roofline
