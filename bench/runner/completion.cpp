#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "bench/runner/command.h"
#include "counters/base/files.h"
#include "counters/base/keys.h"

namespace dlroof::runner {

const std::vector<EmbeddedFile>& BashFunctions();  // bash_functions.bash, embedded

namespace {

using NamedCommand = std::pair<std::string, const Command*>;  // path ("dlroof cluster"), command

void AddCommands(const Command& command, const std::string& path, std::vector<NamedCommand>& all) {
  all.emplace_back(path, &command);
  for (const auto& below : command.commands) AddCommands(below, path + ' ' + below.name, all);
}

std::vector<NamedCommand> AllCommands(const std::vector<Command>& programs) {
  std::vector<NamedCommand> all;
  for (const auto& program : programs) AddCommands(program, program.name, all);
  return all;
}

// Returns one case of the bash function _dlroof_words: it prints a command's subcommands and flags.
std::string WordsLine(const NamedCommand& named) {
  const auto& [path, command] = named;
  std::vector<std::string> words;
  for (const auto& below : command->commands) words.push_back(below.name);
  words.emplace_back("--help");
  if (!command->commands.empty() && path == command->name) words.emplace_back("--version");
  for (const auto& option : command->options)
    if (!option.IsPositional() && !option.rules.hidden)
      for (const auto& name : NamesOf(option))
        if (name.starts_with("--"))
          words.push_back(command->equals_sign && option.TakesValue() ? name + "=" : name);
  return fmt::format("    '{}') echo '{}' ;;\n", path, fmt::join(words, " "));
}

// Returns what the bash function _dlroof_value prints for a value, e.g. " list file :cpu gpu": the
// kinds of values, a colon and the words to choose from.
std::string Value(const Completion& completion) {
  return fmt::format("{} :{}", completion.kinds, fmt::join(completion.words, " "));
}

// Returns a command's cases of the bash function _dlroof_value: one for each flag with a value, and
// one for all positional arguments together.
std::string ValueLines(const NamedCommand& named, const TypeCompletions& types) {
  const auto& [path, command] = named;
  std::string text;
  Completion positional;
  for (const auto& option : command->options) {
    if (!option.TakesValue() || option.rules.hidden) continue;
    const auto completion = CompletionOf(option, types);
    if (option.IsPositional()) {
      positional.words.insert(positional.words.end(), completion.words.begin(),
                              completion.words.end());
      if (positional.kinds.find(completion.kinds) == std::string::npos)
        positional.kinds += completion.kinds;
      continue;
    }
    std::vector<std::string> keys;
    for (const auto& name : NamesOf(option)) keys.push_back(fmt::format("'{} {}'", path, name));
    text += fmt::format("    {}) echo '{}' ;;\n", fmt::join(keys, " | "), Value(completion));
  }
  return text + fmt::format("    '{}') echo '{}' ;;\n", path, Value(positional));
}

std::string Function(const char* name, const std::string& lines) {
  return fmt::format("{}() {{\n  case $1 in\n{}    *) return 1 ;;\n  esac\n}}\n", name, lines);
}

}  // namespace

Completion CompletionOf(const Option& option, const TypeCompletions& types) {
  const auto& rules = option.rules;
  if (!rules.choices.empty()) return {rules.comma ? " list" : "", rules.choices};
  return FindCopy(types, rules.type).value_or(Completion());
}

std::string BashCompletion(const std::vector<Command>& programs, const TypeCompletions& types) {
  std::string words, values;
  for (const auto& named : AllCommands(programs)) {
    words += WordsLine(named);
    values += ValueLines(named, types);
  }
  std::string text =
      "# Completion of dlroof's programs in bash. Made by `dlroof completion bash`.\n";
  text += Function("_dlroof_words", words) + Function("_dlroof_value", values);
  text += TextOf(BashFunctions(), "bash_functions");
  text += "complete -o default -F _dlroof_complete";
  for (const auto& program : programs) text += ' ' + program.name;
  return text + '\n';
}

std::string WriteFlagTable(const std::vector<Command>& programs) {
  std::string text;
  for (const auto& [path, command] : AllCommands(programs))
    for (const auto& option : command->options) {
      const auto& rules = option.rules;
      if (rules.hidden) continue;
      const char* takes = !option.TakesValue()   ? "nothing"
                          : option.TakesValues() ? "values"
                                                 : "value";
      text += fmt::format("{}\t{}\t{}\t{}", path, option.names, takes,
                          rules.required ? "required" : "optional");
      if (!rules.choices.empty()) text += fmt::format("\t{}", fmt::join(rules.choices, ","));
      text += '\n';
    }
  return text;
}

}  // namespace dlroof::runner
