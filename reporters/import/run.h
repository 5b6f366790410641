// Imported records as a run file on the roofs of a machine.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "reporters/record/run_file.h"

namespace dlroof::imports {

struct ImportChoice {
  std::string set;                       // before every name, with a slash; empty: nothing
  std::optional<Provenance> provenance;  // of all FLOPs and bytes; absent: as the records say
};

// Names of six parts keep them; any other stands on `machine`'s device as a whole. Threads for
// which the machine has no ceilings become all of its threads, and `warnings` gets a sentence.
record::RunFile ImportedRun(std::vector<record::Record> records, const std::optional<machine::Machine>& machine,
                    const ImportChoice& choice, std::ostream& warnings);

}  // namespace dlroof::imports
