// Names of the same benchmark in BASE and in NEW where they differ.
//
// The records of two run files side by side, and checks that both measured the same thing the same
// way. Any other comparison is wrong.
//
// The entry of an interleaved comparison in its two run files (context.dlroof.interleaved). Pure.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::compare {

// BASE's name -> NEW's name.
using NameMap = std::map<std::string, std::string>;

// One "base-name new-name" per line, apart by one space, or by a tab where names hold spaces; empty
// lines and lines that begin with # are skipped. Throws BadInput, with `where` and the line, for
// anything else and for a name given twice on one side.
NameMap ParseNameMap(const std::string& text, const std::string& where);

// The same of a file. Throws BadInput also where it cannot be read.
NameMap ReadNameMap(const std::string& path);

// A run file and what messages call it: its path.
struct NamedRun {
  std::string where;
  record::RunFile file;
};

// Either may be null, not both. They point into the run files.
struct PairedRecord {
  const record::Record* base = nullptr;
  const record::Record* contender = nullptr;
};

// Throws BadInput: a name that stands there twice.
void CheckNames(const NamedRun& run);

// Those of `names` that `base` has.
NameMap NamesIn(const NamedRun& base, const NameMap& names);

// In NEW's order, then those that only BASE has, in its order. Throws BadInput: a name twice in a
// file, a mapped name that its file does not have.
std::vector<PairedRecord> PairRecords(const NamedRun& base, const NamedRun& contender,
                                      const NameMap& names);

// Throws BadInput with one sentence that names what differs: a dlroof file beside a plain Google
// Benchmark one, schema, conventions (those that both files state), the machine's fingerprint (of
// plain files: CPUs and caches), and of a benchmark that both have: type, cache state, threads,
// unit of time. `across_machines` allows other machines and threads.
void CheckComparable(const NamedRun& base, const NamedRun& contender,
                     const std::vector<PairedRecord>& pairs, bool across_machines);

// Throws BadInput where both contexts state a convention and the two differ.
void CheckConventions(const std::string& base_where, const nlohmann::json& base,
                      const std::string& contender_where, const nlohmann::json& contender);

// Returns the other differences between the runs (libraries, compiler, build type, environment,
// commit), one text each: "libraries.onednn: 3.2 -> 3.3".
std::vector<std::string> ContextChanges(const record::RunFile& base,
                                        const record::RunFile& contender);

struct InterleavedComparison {
  std::string id;            // of this comparison: both files have it, no others
  double min_effect = 0.02;  // [1] by which it was decided when enough was measured
};

nlohmann::json ToJson(const InterleavedComparison& interleaving);

// Present when both files are of one interleaved comparison, so that their blocks are pairs.
std::optional<InterleavedComparison> InterleavedComparisonOf(const record::RunFile& base,
                                           const record::RunFile& contender);

}  // namespace dlroof::compare
