// Writes scripts that complete command lines in shells.
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
std::string ZshCompletion(const Completed& completed);
std::string FishCompletion(const Completed& completed);

struct Shell {
  const char* name;  // "bash"
  std::string (*script)(const Completed& completed);
  // Where packages install the script, below share. Shells that look for a file by the name of a
  // program find one for each program.
  const char* folder;
  const char* prefix;  // of the file's name, before the name of a program
  const char* suffix;
  bool one_file;  // one file stands for all programs
};

const std::vector<Shell>& Shells();

}  // namespace dlroof::command_line
