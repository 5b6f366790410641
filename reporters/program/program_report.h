// A program's time, primitive by primitive, inside of it and alone, as text for a terminal.
#pragma once

#include <iosfwd>
#include <string>

#include "reporters/program/program_summary.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::programs {

// Returns true for a run file of a program (context.dlroof.program).
bool IsProgram(const record::RunFile& file);

// Writes the primitives that would give most, the census of the kinds, the ledger of a step, and
// which lines of the log were read. `width` [columns] of the terminal; 0 is no limit. Writes
// nothing for a file that is no program's.
void WriteProgram(const roofline::PlacedRun& run, int width, std::ostream& out);

// Returns a sentence on why the program's calls take as long as they do beside the call alone, as
// far as the two times, the cold one and the implementations tell. The primitive has been replayed.
std::string WhyOf(const ProgramPrimitive& primitive);

// Writes a row per replayed primitive, those with most time first, and the reasons of those that
// were not. Writes nothing without a replay. `width` as of WriteProgram.
void WriteAlone(const ProgramSummary& summary, int width, std::ostream& out);

}  // namespace dlroof::programs
