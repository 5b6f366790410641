// The energy of calls as text for a terminal.
#pragma once

#include <iosfwd>
#include <optional>
#include <vector>

#include "reporters/record/record.h"

namespace dlroof {

// Returns the FLOPs of one call by the most trusted count over the joules of one call [flop/J];
// absent where one of them is not known.
std::optional<double> FlopsPerJoule(const Record& record);

// Writes a row for each record with energy, by counters, then by meters of nodes: joules of a call,
// FLOP/J, mean power, domains or nodes. Then what the joules are of, and why others have none.
// Writes nothing where energy was not asked for. `width` [columns] of the terminal, 0: no limit.
void WriteEnergy(const std::vector<Record>& records, int width, std::ostream& out);

}  // namespace dlroof
