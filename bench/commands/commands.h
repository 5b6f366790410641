// The subcommands of dlroof, which their files register, and functions that several of them use.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bench/runner/command.h"

namespace dlroof::commands {

using runner::AboveZero;
using runner::AtLeastZero;
using runner::Command;
using runner::kFile;
using runner::kFolder;
using runner::kMachine;
using runner::Option;
using runner::Range;
using runner::Ruled;

// Registers a command of dlroof. Call at namespace scope. Returns true.
bool RegisterCommand(Command (*make)());
// Returns dlroof with all its commands, in the order of their names.
Command Program();

// Writes `text` to the file `path` and reports that on standard error. Without `path`, writes
// `text` to standard output.
void WriteOutput(const std::optional<std::string>& path, const std::string& text);

// Creates a folder and those that contain it, if they do not exist. Throws BadInput if it cannot.
void CreateFolder(const std::filesystem::path& folder);

// Parses a flag's value, a share from 0 to 1 such as "5%" or "0.05". Returns nothing if the flag is
// absent. Throws BadInput with the flag's name for any other text.
std::optional<double> ParseShare(const std::string& flag, const std::optional<std::string>& text);

// --bench, the path of dlroof_bench.
Option BenchOption(std::optional<std::string>& bench);
// --machine of commands that measure benchmarks.
Option MeasuredMachineOption(std::optional<std::string>& machine);

}  // namespace dlroof::commands
