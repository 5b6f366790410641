// Ceilings of a given rate, for machines that a test makes.
#pragma once

#include <optional>
#include <string>

#include "ceilings/machine/machine.h"

namespace dlroof::fakes {

inline machine::Ceiling Validated(double per_second) {
  return {.per_second = per_second, .status = machine::CeilingStatus::kValidated};
}

inline machine::Ceiling Specified(double per_second) {
  return {.per_second = per_second, .status = machine::CeilingStatus::kSpecified};
}

// A ceiling as the first visit, at the moment `at`, leaves it; `clean`: repetitions.
inline machine::Ceiling Seen(const std::string& at, double per_second, bool validated, int clean,
                             std::optional<double> clock_hz = std::nullopt) {
  machine::Ceiling ceiling{.per_second = per_second, .how = "h", .clock_hz = clock_hz};
  if (validated)
    ceiling.status = machine::CeilingStatus::kValidated;
  else
    ceiling.reasons = {"other programs ran"};
  ceiling.visits = {{.at = at,
                     .per_second = per_second,
                     .clean = clean,
                     .clock_hz = clock_hz,
                     .validated = validated}};
  return ceiling;
}

}  // namespace dlroof::fakes
