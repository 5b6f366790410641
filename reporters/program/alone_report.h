// A program's primitives inside of it and alone, as text for a terminal.
#pragma once

#include <iosfwd>
#include <string>

#include "reporters/program/program_summary.h"

namespace dlroof {

// Returns a sentence on why the program's calls take as long as they do beside the call alone, as
// far as the two times, the cold one and the implementations tell. The primitive has been replayed.
std::string WhyOf(const ProgramPrimitive& primitive);

// Writes a row per replayed primitive, those with most time first, and the reasons of those that
// were not. Writes nothing without a replay. `width` as of WriteProgram.
void WriteAlone(const ProgramSummary& summary, int width, std::ostream& out);

}  // namespace dlroof
