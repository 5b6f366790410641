// Writes the script that completes command lines in bash, and the table of all flags.
#pragma once

#include <string>
#include <vector>

#include "bench/command_line/description.h"

namespace dlroof::command_line {

// Programs whose command lines a script completes, and how it completes the values of their types.
struct Completed {
  std::vector<Command> programs;
  TypeCompletions types;
};

std::string BashCompletion(const Completed& completed);

// Returns a line for each argument of each command, with tabs between the columns: the command, the
// names of the argument (separated by commas), what it takes (nothing, a value, values), whether it
// is required or optional, and its choices (separated by commas) if it has any.
std::string WriteFlagTable(const std::vector<Command>& programs);
}  // namespace dlroof::command_line
