// The records of two run files side by side.
#pragma once

#include <string>
#include <vector>

#include "baselines/compare/name_map.h"
#include "reporters/record/run_file.h"

namespace dlroof {

// A run file and what messages call it: its path.
struct NamedRun {
  std::string where;
  RunFile file;
};

// Either may be null, not both. They point into the run files.
struct PairedRecord {
  const Record* base = nullptr;
  const Record* fresh = nullptr;
};

// Throws BadInput: a name that stands there twice.
void CheckNames(const NamedRun& run);

// Those of `names` that `base` has.
NameMap NamesIn(const NamedRun& base, const NameMap& names);

// In NEW's order, then those that only BASE has, in its order. Throws BadInput: a name twice in a
// file, a mapped name that its file does not have.
std::vector<PairedRecord> PairRecords(const NamedRun& base, const NamedRun& fresh,
                                      const NameMap& names);

}  // namespace dlroof
