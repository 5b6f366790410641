// The records of two run files side by side, and checks that both measured the same thing the same
// way. Any other comparison is wrong.
#pragma once

#include <string>
#include <vector>

#include "baselines/compare/name_map.h"
#include "reporters/record/run_file.h"

namespace dlroof::compare {

// A run file and what messages call it: its path.
struct NamedRun {
  std::string where;
  record::RunFile file;
};

// Either may be null, not both. They point into the run files.
struct PairedRecord {
  const record::Record* base = nullptr;
  const record::Record* fresh = nullptr;
};

// Throws BadInput: a name that stands there twice.
void CheckNames(const NamedRun& run);

// Those of `names` that `base` has.
NameMap NamesIn(const NamedRun& base, const NameMap& names);

// In NEW's order, then those that only BASE has, in its order. Throws BadInput: a name twice in a
// file, a mapped name that its file does not have.
std::vector<PairedRecord> PairRecords(const NamedRun& base, const NamedRun& fresh,
                                      const NameMap& names);

// Throws BadInput with one sentence that names what differs: a dlroof file beside a plain Google
// Benchmark one, schema, conventions (those that both files state), the machine's fingerprint (of
// plain files: CPUs and caches), and of a benchmark that both have: type, cache state, threads,
// unit of time. `across_machines` allows other machines and threads.
void CheckComparable(const NamedRun& base, const NamedRun& fresh,
                     const std::vector<PairedRecord>& pairs, bool across_machines);

// Throws BadInput where both contexts state a convention and the two differ.
void CheckConventions(const std::string& base_where, const nlohmann::json& base,
                      const std::string& fresh_where, const nlohmann::json& fresh);

// Returns the other differences between the runs (libraries, compiler, build type, environment,
// commit), one text each: "libraries.onednn: 3.2 -> 3.3".
std::vector<std::string> ContextChanges(const record::RunFile& base, const record::RunFile& fresh);

}  // namespace dlroof::compare
