// Pairs the records of two run files (BASE and NEW) by name or by a name map, and checks that the
// runs are comparable. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::compare {

// BASE's name -> NEW's name (--map).
using NameMap = std::map<std::string, std::string>;

// A run file and its path (for messages).
struct NamedRun {
  std::string where;
  record::RunFile file;
};

// The two records of one benchmark; either may be null, not both.
struct PairedRecord {
  const record::Record* base = nullptr;
  const record::Record* contender = nullptr;
  const NamedRun* run = nullptr;  // BASE's run, also if `base` is null
  std::size_t earlier = 0;        // [1] number of stored runs older than `run`
};

// Throws BadInput for a benchmark name that occurs twice.
void CheckNames(const NamedRun& run);

// Returns the entries of `names` whose BASE name is a benchmark of `base`.
NameMap NamesIn(const NamedRun& base, const NameMap& names);

// Returns pairs in NEW's order, then records that only BASE has, in BASE's order. Throws BadInput
// if a name occurs twice in a file or `names` has a name that its file does not contain.
std::vector<PairedRecord> PairRecords(const NamedRun& base, const NamedRun& contender,
                                      const NameMap& names);

// Throws BadInput if the runs are not comparable: one is by dlroof and one by plain Google
// Benchmark; they share no benchmark; their schema, a convention that both state, or their machine
// fingerprint (plain files: CPUs and caches) differs; or a common benchmark has another device,
// type, cache state or thread count. Conventions of counting FLOPs may differ, since times do not
// depend on them (CountFlopsAlike). With `across_machines` machines and threads may differ, too.
// Ignores pairs whose `run` is not `base`.
void CheckComparable(const NamedRun& base, const NamedRun& contender,
                     const std::vector<PairedRecord>& pairs, bool across_machines);

}  // namespace dlroof::compare
