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

// A placed call: the input of each AdviceRule.
struct AdviceCase {
  const record::Record& record;
  const TimePoint& time;
  const machine::CeilingSet& ceilings;
  std::string_view noun;           // word for one call of the op: "convolution"
  const OpWords* words = nullptr;  // the op's vocabulary; null for an unknown op
};

struct AdviceRule {
  std::string_view name;
  // Returns a clause with the measured value if that reaches the rule's threshold, else nullopt.
  std::optional<std::string> (*evidence)(const AdviceCase&);
  std::string_view next;  // a clause: what to try if the rule applies
};

// Returns the rules, the most important one first.
std::span<const AdviceRule> AdviceRules();

// Adds remarks to `placement`: a call above its roof, a reference implementation, a type emulated
// in fp32, algorithms with wrong results. Sets its advice: the bound, the distance to the roof, the
// evidence of at most two rules, and what to try next. Sets no advice if the call is not placed or
// its time is noisy or uncertain. `words` is the vocabulary for NounOf.
void AddFindings(const record::Record& record, const record::Timing& timing,
                 const machine::CeilingSet& ceilings, const OpVocabulary& words,
                 Placement& placement);

// Returns whether the time's 95 % interval is wider than half the median.
bool IsUncertain(const record::Timing& timing);

}  // namespace dlroof::roofline
