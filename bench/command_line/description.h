// Describes the command line of a program, as it was added to CLI11, in a form from which the
// completion and the list of flags are written.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace dlroof::command_line {

// Types of values, which an option has by its type_name(). Shells complete them.
inline constexpr const char* kFile = "FILE";
inline constexpr const char* kFolder = "DIR";
inline constexpr const char* kSuite = "SUITE";          // suites or files, separated by commas
inline constexpr const char* kMachine = "MACHINE";      // a machine file or a known GPU
inline constexpr const char* kBenchmark = "BENCHMARK";  // a benchmark's name or a file
inline constexpr const char* kFlag = "FLAG";            // a flag of dlroof_bench, after "--"
inline constexpr const char* kProgram = "PROGRAM";      // a program and its arguments, after "--"

// A flag or a positional argument of a command.
struct Argument {
  std::vector<std::string> names;  // "-o" and "--output"; of a positional argument "FILES"
  std::string type;                // of its value; empty if it takes none
  std::vector<std::string> choices;
  bool positional = false, required = false;
  bool many = false;   // takes several values, or may be repeated
  bool comma = false;  // one value may list several, separated by commas
};

struct Command {
  std::vector<std::string> path;  // {"dlroof", "cluster", "script"}
  // Whether a value follows its flag after "=" (dlroof_bench) or as a word of its own.
  bool equals_sign = false;
  std::vector<Argument> arguments;  // those that --help lists
  std::vector<Command> subcommands;

  // Returns the words of the path with spaces between them.
  std::string Path() const;
};

// Describes a program or a subcommand. `path` ends with its name.
Command Describe(CLI::App& app, std::vector<std::string> path);

// Returns the command and all commands below it, each after the command that contains it.
std::vector<const Command*> WithSubcommands(const Command& command);

// How a shell completes the values of a type.
struct Completion {
  std::vector<std::string> words;
  enum class Paths { kNone, kFiles, kFolders } paths = Paths::kNone;
  bool comma = false;        // several of the words, separated by commas
  bool bench_flags = false;  // the flags of dlroof_bench
  bool any_program = false;  // a program in $PATH and its arguments
};

using TypeCompletions = std::map<std::string, Completion, std::less<>>;  // by the type of a value

// Returns how the values of an argument are completed: by its choices, else by its type.
Completion CompletionOf(const Argument& argument, const TypeCompletions& types);

}  // namespace dlroof::command_line
