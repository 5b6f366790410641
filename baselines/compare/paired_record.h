// Pairs of records from two run files (BASE and NEW), by name or by a map of names; checks that
// both files measured the same thing in the same way; and the entry of an interleaved comparison in
// its two run files (context.dlroof.interleaved). Pure, but for ReadNameMap.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
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

// Reads a file for ParseNameMap. Throws BadInput also if the file cannot be read.
NameMap ReadNameMap(const std::string& path);

// A run file and its path, for messages.
struct NamedRun {
  std::string where;
  record::RunFile file;
};

// The records of one benchmark, in the two run files. One of them may be null.
struct PairedRecord {
  const record::Record* base = nullptr;
  const record::Record* contender = nullptr;
};

// Throws BadInput for a name that occurs twice.
void CheckNames(const NamedRun& run);

// Throws BadInput for a control that is no benchmark of the run.
void CheckControls(const NamedRun& contender, const std::set<std::string>& controls);

// Returns the entries of `names` whose BASE name is a benchmark of `base`.
NameMap NamesIn(const NamedRun& base, const NameMap& names);

// Returns the pairs in NEW's order, then the records that only BASE has, in its order. Throws
// BadInput if a name occurs twice in a file, or a name of `names` is not in its file.
std::vector<PairedRecord> PairRecords(const NamedRun& base, const NamedRun& contender,
                                      const NameMap& names);

// Throws BadInput with a sentence if the files differ in: kind (of dlroof or plain Google
// Benchmark), schema, conventions that both have, the machine's fingerprint (in plain files: CPUs
// and caches), and, of a benchmark in both, type, cache state, threads or unit of time. Conventions
// of counting FLOPs may differ, since times do not depend on them (CountFlopsAlike).
// `across_machines` allows different machines and threads, but no different conventions.
void CheckComparable(const NamedRun& base, const NamedRun& contender,
                     const std::vector<PairedRecord>& pairs, bool across_machines);

// Throws BadInput if a convention has different values in the two contexts.
void CheckConventions(const std::string& base_where, const nlohmann::json& base,
                      const std::string& contender_where, const nlohmann::json& contender);

// Returns the conventions of counting FLOPs ("flops.conv2d") that have different values in the two
// contexts.
std::vector<std::string> OtherFlopConventions(const nlohmann::json& base,
                                              const nlohmann::json& contender);
// Returns whether both contexts count the FLOPs of this op in the same way, as far as both say it.
// If not, FLOPs, FLOP/s and percentages of roofs of the two cannot be compared.
bool CountFlopsAlike(const nlohmann::json& base, const nlohmann::json& contender,
                     const std::string& op);

// Returns the other differences between the runs (conventions of counting FLOPs, libraries,
// compiler, build type, environment, commit), one text each: "libraries.onednn: 3.2 -> 3.3".
std::vector<std::string> ContextChanges(const record::RunFile& base,
                                        const record::RunFile& contender);

// The entry of an interleaved comparison, equal in its two run files.
struct InterleavedComparison {
  std::string id;            // unique for each comparison
  double min_effect = 0.02;  // [1] minimum effect of the stopping rule
};

nlohmann::json ToJson(const InterleavedComparison& interleaving);

// Returns the entry if both files are of the same interleaved comparison, else nothing.
std::optional<InterleavedComparison> InterleavedComparisonOf(const record::RunFile& base,
                                                             const record::RunFile& contender);

}  // namespace dlroof::compare
