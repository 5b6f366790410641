// Writes every command and flag as a line of a table, for scripts and for the test that none of
// them is lost.
#pragma once

#include <string>
#include <vector>

#include "bench/command_line/description.h"

namespace dlroof::command_line {

// Returns a line for each argument of each command, with tabs between the columns: the command, the
// names of the argument (separated by commas), what it takes (nothing, a value, values), whether it
// is required or optional, and its choices (separated by commas) if it has any.
std::string WriteFlagTable(const std::vector<Command>& programs);

}  // namespace dlroof::command_line
