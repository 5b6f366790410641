// A program's time, primitive by primitive, as text for a terminal.
#pragma once

#include <iosfwd>

#include "reporters/roofline/placed_run.h"

namespace dlroof {

// Returns true for a run file of a program (context.dlroof.program).
bool IsProgram(const RunFile& file);

// Writes the primitives that would give most, the census of the kinds, the ledger of a step, and
// which lines of the log were read. `width` [columns] of the terminal; 0 is no limit. Writes
// nothing for a file that is no program's.
void WriteProgram(const PlacedRun& run, int width, std::ostream& out);

}  // namespace dlroof
