// A program's command line as a table: commands, options, and the variable that gets each value.
// Parser and --help (CLI11, in parser.cpp only), completion and the list of flags are made from it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dlroof::runner {

// Types of values, shown in --help and completed by shells. Others have CLI11's names, e.g. TEXT.
inline constexpr const char* kFile = "FILE";
inline constexpr const char* kFolder = "DIR";
inline constexpr const char* kSuite = "SUITE";          // suites or files, separated by commas
inline constexpr const char* kMachine = "MACHINE";      // a machine file or a known GPU
inline constexpr const char* kBenchmark = "BENCHMARK";  // a benchmark's name or a file
inline constexpr const char* kFlag = "FLAG";            // a flag of dlroof_bench, after "--"
inline constexpr const char* kProgram = "PROGRAM";      // a program and its arguments, after "--"

// The variable that gets an option's value. A bool is a flag without a value, an optional<bool>
// takes true or false, a vector takes several values.
using Target =
    std::variant<bool*, int*, unsigned*, std::int64_t*, std::uint64_t*, double*, std::string*,
                 std::optional<bool>*, std::optional<int>*, std::optional<std::int64_t>*,
                 std::optional<std::uint64_t>*, std::optional<double>*, std::optional<std::string>*,
                 std::vector<int>*, std::vector<std::string>*>;

struct AboveZero {};
struct AtLeastZero {};
struct Range {
  double least, most;
};
using Limits = std::variant<std::monostate, AboveZero, AtLeastZero, Range>;

// Allowed values of an option, and how --help shows it.
struct Rules {
  std::string type = {};  // type of the value, e.g. kFile or "SECONDS"
  std::vector<std::string> choices = {};
  Limits limits = {};
  bool required = false;
  // For vectors: with `one_each`, the flag takes one value and may be repeated; otherwise it takes
  // exactly `words` words or, if that is 1, all words up to the next flag.
  bool one_each = false;
  int words = 1;
  bool comma = false;                      // a value may be a list, separated by commas
  std::vector<std::string> excludes = {};  // options that cannot be combined with this one
  bool hidden = false;                     // set by dlroof's programs only: not in --help and lists
};

// `names` are a flag's names, e.g. "-o,--output", or that of a positional argument, e.g. "FILES".
// A command may have at most one optional positional argument that takes several values.
struct Option {
  std::string names;
  Target target;
  std::string help;
  Rules rules = {};

  bool IsPositional() const { return names.front() != '-'; }
  bool TakesValue() const { return !std::holds_alternative<bool*>(target); }
  bool TakesValues() const {
    return std::holds_alternative<std::vector<int>*>(target) ||
           std::holds_alternative<std::vector<std::string>*>(target);
  }
};

inline Option Ruled(std::string names, Rules rules, Target target, std::string help) {
  return {std::move(names), target, std::move(help), std::move(rules)};
}

struct Command {
  std::string name, about;
  std::vector<Option> options = {};
  std::vector<Command> commands = {};  // subcommands; if there are any, one must be given
  std::function<int()> run = {};       // returns the exit code; owns the targets of `options`
  // Values are given as --flag=VALUE only (dlroof_bench), not as --flag VALUE.
  bool equals_sign = false;
};

// Returns a flag's names: {"-o", "--output"}.
std::vector<std::string> NamesOf(const Option& option);

// Parses the command line and runs the command that it names. Returns the exit code: the command's,
// 0 after --help and --version, or 2 after a sentence on standard error. Words after "--" go to the
// option of type kFlag or kProgram. Throws BadInput for an unknown command, and what `run` throws.
int Run(const Command& program, const std::string& version, int argc, char** argv);

// Parses the flags `words` of a program without subcommands and stores their values in the options'
// targets. Throws BadInput for --help and for invalid flags.
void Parse(const Command& program, const std::vector<std::string>& words);

std::string Help(const Command& program);

// How a shell completes the values of a type.
struct Completion {
  // What it may be beside `words`, as bash_functions.bash reads it: " file", " folder", " flags"
  // (of dlroof_bench), " program" (in $PATH, with its arguments). " list": several, separated by
  // commas.
  std::string kinds = {};
  std::vector<std::string> words = {};
};

using TypeCompletions = std::map<std::string, Completion, std::less<>>;  // by the type of a value

// Returns how the values of an option are completed: by its choices, else by its type.
Completion CompletionOf(const Option& option, const TypeCompletions& types);

std::string BashCompletion(const std::vector<Command>& programs, const TypeCompletions& types);

// Returns a line for each option of each command, with columns separated by tabs: command, names of
// the option (separated by commas), whether it takes nothing, a value or values, whether it is
// required or optional, and its choices (separated by commas). Omits -h and --help.
std::string WriteFlagTable(const std::vector<Command>& programs);

}  // namespace dlroof::runner
