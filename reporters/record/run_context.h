// Compares two run files. Their contexts: members that must be the same, conventions
// (context.dlroof.conventions), other differences, and the entry that an interleaved comparison
// writes into both run files (context.dlroof.interleaved). A benchmark's two records: what else
// changed, to explain a change of its time. Pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reporters/record/record.h"
#include "reporters/record/run_file.h"

namespace dlroof::record {

// Returns a value's text for a message; cuts it to 80 bytes.
std::string Quoted(const nlohmann::json& value);

// Throws BadInput: the runs `base` and `contender` cannot be compared, because `what` differs.
[[noreturn]] void RefuseDifference(const std::string& base, const std::string& contender,
                                   const std::string& what, const std::string& in_base,
                                   const std::string& in_contender);

// Calls RefuseDifference if both objects have the member `key`, with different values.
void CheckMember(const std::string& base, const std::string& contender,
                 const nlohmann::json& in_base, const nlohmann::json& in_contender,
                 const std::string& key, const std::string& what);

// Throws BadInput if a convention has different values in the two runs. Conventions of GPU calls
// ("gpu.") count only if both have such calls, those of counting FLOPs only with `of_flops`.
void CheckConventions(const std::string& base_where, const RunFile& base,
                      const std::string& contender_where, const RunFile& contender,
                      bool of_flops = true);

// Returns the names of the conventions of counting FLOPs, e.g. "flops.conv2d", whose values differ
// between the two contexts.
std::vector<std::string> OtherFlopConventions(const nlohmann::json& base,
                                              const nlohmann::json& contender);
// Returns false if the two contexts count this operator's FLOPs by different conventions. The runs'
// FLOPs, FLOP/s and percentages of roofs are then not comparable.
bool CountFlopsAlike(const nlohmann::json& base, const nlohmann::json& contender,
                     const std::string& op);

// Returns texts on the differences that do not prevent a comparison (FLOP conventions, libraries,
// compiler, build type, environment, commit), e.g. "libraries onednn: 3.2 -> 3.3".
std::vector<std::string> ContextChanges(const RunFile& base, const RunFile& contender);

// The entry that an interleaved comparison writes into both of its run files.
struct InterleavedComparison {
  std::string id;            // unique per comparison
  double min_effect = 0.02;  // [1] minimum effect of the stopping rule
};

nlohmann::json ToJson(const InterleavedComparison& interleaving);

// Returns the entry if both files have one with the same id, else nullopt.
std::optional<InterleavedComparison> InterleavedComparisonOf(const RunFile& base,
                                                             const RunFile& contender);

struct Change {
  std::string_view kind;  // "algorithm", "flops", "bytes", "launches", "clock", "disturbed", "run"
  std::string text;       // e.g. "dram bytes (measured) grew by 12.0 %, from 1.00 MB to 1.12 MB"
  int slows = 0;          // 1: it makes a call slower, -1: faster, 0: either
};

// Returns the changes, the most likely cause first. Compares FLOPs, bytes and launches of the most
// trusted provenance that both records have; counters may differ by 5 %. The clock is the SM clock
// of a GPU's clean repetitions, otherwise the clock at which the ceilings were measured. Machines
// may be null. Modelled FLOPs are compared only if both runs count them alike (`flops_alike`).
std::vector<Change> FindChanges(const Record& base, const machine::Machine* base_machine,
                                const Record& contender, const machine::Machine* contender_machine,
                                bool flops_alike = true);

// Returns the changes that can be the cause in one line, or "unexplained: ...". Those that act
// against it (e.g. fewer bytes of a slower benchmark) follow, named as such. `slower`: 1 if the
// call became slower, -1 if faster, 0 if neither.
std::string CausesText(const std::vector<Change>& changes, int slower);

}  // namespace dlroof::record
