// A machine's ceilings as text for a terminal, with what is known against them.
#pragma once

#include <iosfwd>
#include <vector>

#include "ceilings/machine/machine.h"

namespace dlroof::terminal {

// Writes a table per machine and number of threads, most threads first: plain pipes, highest first,
// each with its finer rows under it; memory levels with the mix that made the roof; overheads. The
// last column says why a ceiling is not proved. Sentences below it say what a sweep over working
// sets finds about the caches, why something was not measured, and what a look before the run saw.
// `width` [columns] of the terminal: columns are left out and reasons shortened to fit; 0 writes
// everything. Control characters of the file never reach the terminal.
void WriteCeilings(const std::vector<machine::Machine>& machines, int width, std::ostream& out,
                   bool remarks = true);

}  // namespace dlroof::terminal
