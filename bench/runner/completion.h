// Writes the script that completes command lines in bash, and the list of all flags.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/runner/command.h"

namespace dlroof::runner {

// How a shell completes the values of a type.
struct Completion {
  std::vector<std::string> words;
  enum class Paths { kNone, kFiles, kFolders } paths = Paths::kNone;
  bool comma = false;        // a value may be several words, separated by commas
  bool bench_flags = false;  // the flags of dlroof_bench
  bool any_program = false;  // a program in $PATH and its arguments
};

using TypeCompletions = std::map<std::string, Completion, std::less<>>;  // by the type of a value

// Returns how the values of an option are completed: by its choices, else by its type.
Completion CompletionOf(const Option& option, const TypeCompletions& types);

std::string BashCompletion(const std::vector<Command>& programs, const TypeCompletions& types);

// Returns a line for each option of each command, with columns separated by tabs: command, names of
// the option (separated by commas), whether it takes nothing, a value or values, whether it is
// required or optional, and its choices (separated by commas). Omits -h and --help, which each
// command has.
std::string WriteFlagTable(const std::vector<Command>& programs);

}  // namespace dlroof::runner
