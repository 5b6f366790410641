// The parts of a ledger, read by the tests of what makes one.
#pragma once

#include "reporters/ledger/ledger.h"

namespace dlroof::breakdown {

// [s]; 0 for a part that is not there.
inline double SecondsOf(const Ledger& ledger, PartKind kind) {
  const auto* part = ledger.Find(kind);
  return part == nullptr ? 0 : part->seconds;
}

inline double Sum(const Ledger& ledger) {
  double sum = 0;
  for (const auto& part : ledger.parts) sum += part.seconds;
  return sum;
}

}  // namespace dlroof::breakdown
