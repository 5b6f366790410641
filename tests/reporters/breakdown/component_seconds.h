// The parts of a breakdown, read by the tests of what makes one.
#pragma once

#include "reporters/breakdown/breakdown.h"

namespace dlroof::breakdown {

// [s]; 0 for a part that is not there.
inline double SecondsOf(const Breakdown& breakdown, ComponentKind kind) {
  const auto* part = breakdown.Find(kind);
  return part == nullptr ? 0 : part->seconds;
}

inline double Sum(const Breakdown& breakdown) {
  double sum = 0;
  for (const auto& part : breakdown.parts) sum += part.seconds;
  return sum;
}

}  // namespace dlroof::breakdown
