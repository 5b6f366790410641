// Parts of a time, cut from what is left of it. Pure.
#pragma once

#include <string>
#include <vector>

#include "reporters/ledger/ledger.h"

namespace dlroof {

class PartList {
 public:
  explicit PartList(double seconds) : rest_(seconds) {}

  // Cuts off a part of `wanted` [s], or what is left.
  void Add(PartKind kind, double wanted, Provenance from, const std::string& how);
  // Cuts off the bytes of levels.
  void AddLevels(const std::vector<LevelTime>& levels);
  // Cuts off `wanted` [s] that was measured, beside what the levels' bandwidths ask for.
  void AddDistance(double wanted, const std::vector<LevelTime>& levels);
  // All parts, also those of no time, and what is left of the time as not explained.
  std::vector<LedgerPart> Take();

 private:
  double rest_;
  Provenance rest_from_ = Provenance::kMeasured;  // a difference is as sure as what was cut off
  std::vector<LedgerPart> parts_;
};

}  // namespace dlroof
