// Seconds of a breakdown's components, for tests.
#pragma once

#include "reporters/roofline/breakdown.h"

namespace dlroof::roofline {

// [s] Returns 0 if the breakdown has no such component.
inline double SecondsOf(const Breakdown& breakdown, ComponentKind kind) {
  const auto* component = breakdown.Find(kind);
  return component == nullptr ? 0 : component->seconds;
}

inline double Sum(const Breakdown& breakdown) {
  double sum = 0;
  for (const auto& component : breakdown.components) sum += component.seconds;
  return sum;
}

}  // namespace dlroof::roofline
