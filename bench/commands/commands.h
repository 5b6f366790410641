// The subcommands of dlroof. A command's file registers the function that adds it to the program.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dlroof::commands {

// Adds a subcommand to the program. When it was given it runs and sets the exit code.
using AddCommand = void (*)(CLI::App& program, int& exit_code);

// Called by each command's file at namespace scope. Returns true.
bool RegisterCommand(const std::string& name, AddCommand add);
// Returns the commands by name, which is the order in which --help lists them.
const std::map<std::string, AddCommand>& Commands();

// Returns the words of the command line after its first "--": a program and its arguments.
const std::vector<std::string>& WordsAfterDashes();
// Keeps them; called once, before the command line is parsed.
void KeepWordsAfterDashes(int argc, char** argv);

// Writes `text` into a file and says so on standard error; to standard output where `path` is
// empty.
void WriteOutput(const std::string& path, const std::string& text);

// Returns what `run` returns, for a command whose exit code 1 means "something is slower". Throws
// BadInput, with the command's name, in place of any other exception.
int VerdictOf(const char* command, const std::function<int()>& run);

// "5%" or "0.05" -> 0.05; empty is absent. Throws BadInput, naming the flag: anything else, and
// what is not from 0 to 1.
std::optional<double> ParseShare(const std::string& flag, const std::string& text);

// Adds --balance, of commands that place records.
void AddBalanceOption(CLI::App& command, std::string& balance);
// Adds --replay and --bench, of commands that read a program's log.
void AddReplayOptions(CLI::App& command, int& count, std::string& bench);

}  // namespace dlroof::commands
