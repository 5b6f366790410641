#include "bench/command_line/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "counters/base/files.h"

namespace dlroof::command_line {

const std::vector<EmbeddedFile>& BashFunctions();  // bash_functions.bash, embedded

namespace {

// Returns a line of _dlroof_words: a command's subcommands and flags.
std::string WordsLine(const Command& command) {
  std::vector<std::string> words;
  for (const auto& subcommand : command.subcommands) words.push_back(subcommand.path.back());
  for (const auto& argument : command.arguments)
    if (!argument.positional)
      for (const auto& name : argument.names)
        if (name.starts_with("--"))
          words.push_back(command.equals_sign && !argument.type.empty() ? name + "=" : name);
  return fmt::format("    '{}') echo '{}' ;;\n", command.Path(), fmt::join(words, " "));
}

// Returns kinds of values, a colon and the words to choose from.
std::string Value(const Completion& completion) {
  std::string kinds;
  if (completion.comma) kinds += " list";
  if (completion.paths == Completion::Paths::kFiles) kinds += " file";
  if (completion.paths == Completion::Paths::kFolders) kinds += " folder";
  if (completion.bench_flags) kinds += " flags";
  if (completion.any_program) kinds += " program";
  return fmt::format("{} :{}", kinds, fmt::join(completion.words, " "));
}

// Returns the lines of _dlroof_value: for each flag with a value, and for all positional arguments
// of a command together.
std::string ValueLines(const Command& command, const TypeCompletions& types) {
  std::string text;
  Completion positional;
  for (const auto& argument : command.arguments) {
    if (argument.type.empty()) continue;
    const auto completion = CompletionOf(argument, types);
    if (argument.positional) {
      positional.words.insert(positional.words.end(), completion.words.begin(),
                              completion.words.end());
      if (completion.paths != Completion::Paths::kNone) positional.paths = completion.paths;
      positional.bench_flags |= completion.bench_flags;
      positional.any_program |= completion.any_program;
      continue;
    }
    std::vector<std::string> keys;
    for (const auto& name : argument.names)
      keys.push_back(fmt::format("'{} {}'", command.Path(), name));
    text += fmt::format("    {}) echo '{}' ;;\n", fmt::join(keys, " | "), Value(completion));
  }
  return text + fmt::format("    '{}') echo '{}' ;;\n", command.Path(), Value(positional));
}

std::string Function(const char* name, const std::string& lines) {
  return fmt::format("{}() {{\n  case $1 in\n{}    *) return 1 ;;\n  esac\n}}\n", name, lines);
}

}  // namespace

std::string BashCompletion(const Completed& completed) {
  std::string words, values;
  for (const auto& program : completed.programs)
    for (const Command* command : WithSubcommands(program)) {
      words += WordsLine(*command);
      values += ValueLines(*command, completed.types);
    }
  std::string text =
      "# Completion of dlroof's programs in bash. Made by `dlroof completion bash`.\n";
  text += Function("_dlroof_words", words) + Function("_dlroof_value", values);
  text += TextOf(BashFunctions(), "bash_functions");
  text += "complete -o default -F _dlroof_complete";
  for (const auto& program : completed.programs) text += ' ' + program.path.back();
  return text + '\n';
}

std::string WriteFlagTable(const std::vector<Command>& programs) {
  std::string text;
  for (const auto& program : programs)
    for (const Command* command : WithSubcommands(program))
      for (const auto& argument : command->arguments) {
        const char* takes = argument.type.empty() ? "nothing" : argument.many ? "values" : "value";
        text += fmt::format("{}\t{}\t{}\t{}", command->Path(), fmt::join(argument.names, ","),
                            takes, argument.required ? "required" : "optional");
        if (!argument.choices.empty())
          text += fmt::format("\t{}", fmt::join(argument.choices, ","));
        text += '\n';
      }
  return text;
}

}  // namespace dlroof::command_line
