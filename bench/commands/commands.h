// The subcommands of dlroof, which their files register, and what several of them need.
#pragma once

#include <CLI/CLI.hpp>
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

// Throws BadInput if `words`, the command line after the program's name, begins with a command (or
// a command and its subcommand) that does not exist; the message names the most similar one.
void RefuseUnknownCommand(const CLI::App& program, const std::vector<std::string>& words);

// Returns the words of the command line after its first "--": a program and its arguments.
const std::vector<std::string>& WordsAfterDashes();
// Stores these words. Call once, before the command line is parsed.
void StoreWordsAfterDashes(int argc, char** argv);

// Writes `text` to the file and reports it on standard error, or writes it to standard output.
void WriteOutput(const std::optional<std::string>& path, const std::string& text);

// Returns the result of `run`, for commands whose exit code 1 means "something is slower". Turns
// every exception into BadInput, with the command's name.
int VerdictOf(const char* command, const std::function<int()>& run);

// Parses the value of a flag, a share of 1 such as "5%" or "0.05" from 0 to 1, if it is given.
// Throws BadInput with the flag's name for any other text.
std::optional<double> ParseShare(const std::string& flag, const std::optional<std::string>& text);

// Adds --bench, which names the program that measures.
CLI::Option* AddBenchOption(CLI::App& command, std::optional<std::string>& bench);
// Adds --machine of commands that measure benchmarks.
void AddMeasuredMachineOption(CLI::App& command, std::optional<std::string>& machine);
// Adds --balance of commands that place records on roofs.
void AddBalanceOption(CLI::App& command, std::string& balance);
// Adds --replay and --bench of commands that read a program's log.
void AddReplayOptions(CLI::App& command, std::optional<int>& count,
                      std::optional<std::string>& bench);

}  // namespace dlroof::commands
