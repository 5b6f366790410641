// The subcommands of dlroof, which their files register, and functions that several of them use.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dlroof::commands {

// Adds a subcommand to the program. CLI11 runs the subcommand if the command line names it; the
// subcommand then sets the exit code.
using AddCommand = void (*)(CLI::App& program, int& exit_code);

// Registers a command. Call at namespace scope. Returns true.
bool RegisterCommand(const std::string& name, AddCommand add);
// Returns the commands by name, in the order in which --help lists them.
const std::map<std::string, AddCommand>& Commands();

// Throws BadInput if `words`, the command line after the program's name, begins with an unknown
// command or an unknown subcommand of a command. The message names the most similar one.
void RefuseUnknownCommand(const CLI::App& program, const std::vector<std::string>& words);

// Returns the words of the command line after its first "--": a program and its arguments.
const std::vector<std::string>& WordsAfterDashes();
// Stores the words after "--". Call once, before the command line is parsed.
void StoreWordsAfterDashes(int argc, char** argv);

// Writes `text` to the file `path` and reports that on standard error. Without `path`, writes
// `text` to standard output.
void WriteOutput(const std::optional<std::string>& path, const std::string& text);

// Creates a folder and those that contain it, if they do not exist. Throws BadInput if it cannot.
void CreateFolder(const std::filesystem::path& folder);

// Returns the result of `run`. Converts every exception to BadInput with the command's name,
// because these commands return 1 for "something is slower".
int VerdictOf(const char* command, const std::function<int()>& run);

// Parses a flag's value, a share from 0 to 1 such as "5%" or "0.05". Returns nothing if the flag is
// absent. Throws BadInput with the flag's name for any other text.
std::optional<double> ParseShare(const std::string& flag, const std::optional<std::string>& text);

// Adds --bench, the path of dlroof_bench.
CLI::Option* AddBenchOption(CLI::App& command, std::optional<std::string>& bench);
// Adds --machine for commands that measure benchmarks.
void AddMeasuredMachineOption(CLI::App& command, std::optional<std::string>& machine);
// Adds --balance for commands that compare records with roofs.
void AddBalanceOption(CLI::App& command, std::string& balance);
// Adds --on for commands that judge changes of quantities (compare::Quantity).
void AddQuantitiesOption(CLI::App& command, std::vector<std::string>& on, const std::string& help);
// Adds --replay for commands that read a program's log.
void AddReplayOption(CLI::App& command, std::optional<int>& count);

}  // namespace dlroof::commands
