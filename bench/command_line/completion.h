// Writes the script that completes command lines in bash.
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
}  // namespace dlroof::command_line
