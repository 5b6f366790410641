// The subcommands of dlroof (each file registers its own) and functions shared by several of them.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

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
// Returns dlroof with all its commands, sorted by name.
Command Program();

// Writes `text` to the file `path` and reports that on standard error. Without a path writes it to
// standard output, with control characters replaced if that is a terminal.
void WriteOutput(const std::optional<std::string>& path, const std::string& text);

// Creates a folder and missing parents. Throws BadInput if that fails.
void CreateFolder(const std::filesystem::path& folder);

// Parses a flag's value: a share from 0 to 1, such as "5%" or "0.05". Returns nullopt for an absent
// flag. Throws BadInput, naming the flag, for other text.
std::optional<double> ParseShare(const std::string& flag, const std::optional<std::string>& text);

// Parses the lines "base-name new-name" of a file for --map, separated by one space, or by a tab if
// names contain spaces. Skips empty lines and lines starting with #. Throws BadInput, with `where`
// and the line, for other lines and for a name that occurs twice on one side.
std::map<std::string, std::string> ParseNameMap(const std::string& text, const std::string& where);
// Reads and parses such a file. Also throws BadInput if the file cannot be read.
std::map<std::string, std::string> ReadNameMap(const std::string& path);

// Option --bench: the path of dlroof_bench.
Option BenchOption(std::optional<std::string>& bench);
// Option --machine, for commands that measure benchmarks.
Option MeasuredMachineOption(std::optional<std::string>& machine);

}  // namespace dlroof::commands
