// Checks that two runs measured the same thing the same way. Any other comparison is wrong.
#pragma once

#include <string>
#include <vector>

#include "baselines/compare/paired_record.h"

namespace dlroof {

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
std::vector<std::string> ContextChanges(const RunFile& base, const RunFile& fresh);

}  // namespace dlroof
