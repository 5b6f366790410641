#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/command_line/completion.h"
#include "counters/base/files.h"

namespace dlroof::command_line {

const std::vector<EmbeddedFile>& ShellFunctions();

namespace {

// Returns the text with a backslash before each of the characters, in single quotes' inside.
std::string Escaped(std::string_view text, std::string_view characters) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '\\' || characters.find(c) != characters.npos) out += '\\';
    out += c;
  }
  return out;
}

std::string FunctionName(const Command& command) { return "_dlroof_at_" + command.Path("__"); }

// Returns what _arguments does for a value. An action that begins with a space is called as it is.
std::string Action(const Completion& completion) {
  if (completion.any_program) return " _dlroof_program";
  if (completion.bench_flags) return " _dlroof_bench_flags";
  const auto words = fmt::format("{}", fmt::join(completion.words, " "));
  if (completion.paths == Completion::Paths::kFolders) return "_files -/";
  if (completion.paths == Completion::Paths::kFiles && words.empty()) return "_files";
  if (completion.paths == Completion::Paths::kFiles)
    return fmt::format(" _dlroof_words_or_files {} {}", completion.comma ? "list" : "one", words);
  if (words.empty()) return " ";  // a value that cannot be completed
  if (completion.comma) return " _dlroof_words list " + words;
  return " _dlroof_words one " + words;
}

// Returns the argument of _arguments for a flag: '(-o --output)'{-o,--output=}'[help]:FILE:_files'.
std::string FlagSpec(const Argument& flag, bool equals_sign, const TypeCompletions& types) {
  const bool value = !flag.type.empty();
  std::string excluded = flag.many ? "" : fmt::format("{}", fmt::join(flag.names, " "));
  for (const auto& other : flag.not_with)
    if (other.starts_with('-')) excluded += ' ' + other;
  std::vector<std::string> names;
  for (const auto& name : flag.names) {
    const bool is_long = name.starts_with("--");
    names.push_back(name + (!value ? "" : !is_long ? "+" : equals_sign ? "=-" : "="));
  }
  auto spec = flag.many ? "'*'" : fmt::format("'({})'", excluded);
  spec += names.size() == 1 ? names.front() : fmt::format("{{{}}}", fmt::join(names, ","));
  spec += fmt::format("'[{}]", Escaped(flag.help, "[]"));
  if (value)
    spec += fmt::format(":{}:{}", flag.type, Escaped(Action(CompletionOf(flag, types)), ":"));
  return spec + "'";
}

std::string PositionalSpec(const Argument& argument, const TypeCompletions& types) {
  const auto completion = CompletionOf(argument, types);
  const bool behind_dashes = completion.bench_flags || completion.any_program;
  return fmt::format("'{}:{}:{}'",
                     behind_dashes   ? "*:"
                     : argument.many ? "*"
                                     : "",
                     argument.Name(), Escaped(Action(completion), ":"));
}

// Returns the arguments of _arguments. Only the last of two positional arguments with any number of
// values can be given to it: it completes the first one's values too.
std::vector<std::string> Specs(const Command& command, const TypeCompletions& types) {
  std::vector<std::string> specs;
  std::string rest;
  for (const auto& argument : command.arguments) {
    if (!argument.positional)
      specs.push_back(FlagSpec(argument, command.equals_sign, types));
    else if (argument.many)
      rest = PositionalSpec(argument, types);
    else
      specs.push_back(PositionalSpec(argument, types));
  }
  if (!rest.empty()) specs.push_back(rest);
  return specs;
}

std::string LeafFunction(const Command& command, const TypeCompletions& types) {
  return fmt::format("{}() {{\n  _arguments -s -S \\\n    {}\n}}\n", FunctionName(command),
                     fmt::join(Specs(command, types), " \\\n    "));
}

std::string GroupFunction(const Command& command, const TypeCompletions& types) {
  std::string commands, cases;
  for (const auto& subcommand : command.subcommands) {
    const auto& name = subcommand.path.back();
    commands += fmt::format("    '{}:{}'\n", name, Escaped(subcommand.about, ":"));
    cases += fmt::format("        {}) {} ;;\n", name, FunctionName(subcommand));
  }
  return fmt::format(
      "{}() {{\n"
      "  local context state state_descr line\n"
      "  local -a subcommands=(\n{}  )\n"
      "  _arguments -C \\\n    {} \\\n    '1:command:->command' '*::argument:->argument' && "
      "return\n"
      "  case $state in\n"
      "    command) _describe -t commands command subcommands ;;\n"
      "    argument)\n      case $line[1] in\n{}      esac\n      ;;\n"
      "  esac\n}}\n",
      FunctionName(command), commands, fmt::join(Specs(command, types), " \\\n    "), cases);
}

}  // namespace

std::string ZshCompletion(const Completed& completed) {
  std::vector<std::string> names;
  std::string functions, cases;
  for (const auto& program : completed.programs) {
    names.push_back(program.path.back());
    cases += fmt::format("  {}) {} \"$@\" ;;\n", names.back(), FunctionName(program));
    for (const Command* command : WithSubcommands(program))
      functions += command->subcommands.empty() ? LeafFunction(*command, completed.types)
                                                : GroupFunction(*command, completed.types);
  }
  const auto all = fmt::format("{}", fmt::join(names, " "));
  auto text = fmt::format("#compdef {}\n# Made by `dlroof completion zsh`.\n", all);
  text += TextOf(ShellFunctions(), "zsh");
  text += functions;
  // In a file of $fpath these lines run at the first completion; sourced, they register themselves.
  return text + fmt::format(
                    "_dlroof_programs() {{\n  case ${{service:t}} in\n{}  esac\n}}\n"
                    "if [[ $funcstack[1] == _dlroof ]]; then\n  _dlroof_programs \"$@\"\nelse\n"
                    "  compdef _dlroof_programs {}\nfi\n",
                    cases, all);
}

}  // namespace dlroof::command_line
