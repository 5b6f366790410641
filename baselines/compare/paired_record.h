// Pairs of records from two run files, by name or by a map of names, checks that both files
// measured the same thing the same way (any other comparison is wrong), and the entry of an
// interleaved comparison in its two run files (context.dlroof.interleaved). Pure, but for
// ReadNameMap.
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

// Parses one "base-name new-name" per line, separated by one space, or by a tab if names contain
// spaces; skips empty lines and lines that begin with #. Throws BadInput, with `where` and the
// line, for anything else and for a name given twice on one side.
NameMap ParseNameMap(const std::string& text, const std::string& where);

// Reads such a file. Throws BadInput also if it cannot be read.
NameMap ReadNameMap(const std::string& path);

// A run file and its name in messages: its path.
struct NamedRun {
  std::string where;
  record::RunFile file;
};

// One of the two may be null. They point into the run files.
struct PairedRecord {
  const record::Record* base = nullptr;
  const record::Record* contender = nullptr;
};

// Throws BadInput for a name that occurs twice.
void CheckNames(const NamedRun& run);

// Returns the entries of `names` whose BASE name `base` has.
NameMap NamesIn(const NamedRun& base, const NameMap& names);

// Returns the pairs in NEW's order, then the records that only BASE has, in its order. Throws
// BadInput for a name that a file has twice, and a mapped name that its file does not have.
std::vector<PairedRecord> PairRecords(const NamedRun& base, const NamedRun& contender,
                                      const NameMap& names);

// Throws BadInput with a sentence on what differs: a dlroof file and a plain Google Benchmark one,
// schema, conventions (those that both files have), the machine's fingerprint (of plain files: CPUs
// and caches), and of a benchmark in both: type, cache state, threads, unit of time.
// `across_machines` allows different machines and threads.
void CheckComparable(const NamedRun& base, const NamedRun& contender,
                     const std::vector<PairedRecord>& pairs, bool across_machines);

// Throws BadInput if both contexts have a convention with different values.
void CheckConventions(const std::string& base_where, const nlohmann::json& base,
                      const std::string& contender_where, const nlohmann::json& contender);

// Returns the other differences between the runs (libraries, compiler, build type, environment,
// commit), one text each: "libraries.onednn: 3.2 -> 3.3".
std::vector<std::string> ContextChanges(const record::RunFile& base,
                                        const record::RunFile& contender);

// The two files of one interleaved comparison have equal entries.
struct InterleavedComparison {
  std::string id;            // unique for each comparison
  double min_effect = 0.02;  // [1] that decided when enough blocks were measured
};

nlohmann::json ToJson(const InterleavedComparison& interleaving);

// Returns the entry if both files are of one interleaved comparison, so that their blocks are
// pairs.
std::optional<InterleavedComparison> InterleavedComparisonOf(const record::RunFile& base,
                                                             const record::RunFile& contender);

}  // namespace dlroof::compare
