// Evidence in a record's numbers beside its bound, as a table, and the next thing to try.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ceilings/machine/machine.h"
#include "reporters/roofline/roofline.h"

namespace dlroof {

// All that a rule may look at.
struct AdviceCase {
  const Record& record;
  const TimePoint& time;
  const CeilingSet& ceilings;
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

}  // namespace dlroof
