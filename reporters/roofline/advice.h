// Findings about a placed record, and one sentence of advice: the bound, the evidence for its
// cause, and what to try next. The rules for evidence are a table.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ceilings/machine/machine.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::roofline {

// Input of the rules.
struct AdviceCase {
  const record::Record& record;
  const TimePoint& time;
  const machine::CeilingSet& ceilings;
  std::string_view noun;  // for one call of the op: "convolution"
};

struct AdviceRule {
  std::string_view name;
  // Returns a clause with its number if the rule's threshold is reached.
  std::optional<std::string> (*evidence)(const AdviceCase&);
  std::string_view next;  // a clause: what to try then
};

// The most important rule first.
std::span<const AdviceRule> AdviceRules();

// Adds remarks (a point above its roof and whether the roof or the count is wrong; the library's
// own reference implementation) and the advice: what bounds the call and by how much, the evidence
// of at most two rules, what to try next. Gives no advice without a slowdown or for a time that is
// uncertain by half. `words` is the vocabulary of the file's ops, as for NounOf.
void AddFindings(const record::Record& record, const record::Timing& timing,
                 const machine::CeilingSet& ceilings, const OpVocabulary& words,
                 Placement& placement);

}  // namespace dlroof::roofline
