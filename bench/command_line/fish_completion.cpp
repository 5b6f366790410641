#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/command_line/completion.h"
#include "counters/base/files.h"

namespace dlroof::command_line {

const std::vector<EmbeddedFile>& ShellFunctions();

namespace {

std::string Quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + '\'';
}

// Returns the options of `complete` for a value.
std::string ValueOptions(const Completion& completion) {
  const auto words = fmt::format("{}", fmt::join(completion.words, " "));
  std::string options;
  if (completion.paths == Completion::Paths::kFolders)
    return " -x -a '(__fish_complete_directories)'";
  options += completion.paths == Completion::Paths::kFiles ? " -r -F" : " -x";
  if (words.empty()) return options;
  return options + " -a " + Quoted(completion.comma ? "(__dlroof_list " + words + ")" : words);
}

std::string FlagLine(const Argument& flag, const std::string& begin, const TypeCompletions& types) {
  std::string line = begin;
  for (const auto& name : flag.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!flag.type.empty()) line += ValueOptions(CompletionOf(flag, types));
  return fmt::format("{} -d {}\n", line, Quoted(flag.help));
}

std::string PositionalLine(const Argument& argument, const std::string& begin,
                           const std::string& after_dashes, const TypeCompletions& types) {
  const auto completion = CompletionOf(argument, types);
  if (completion.bench_flags) return after_dashes + " -f -a '(__dlroof_bench_flags)'\n";
  if (completion.any_program) return after_dashes + " -f -a '(__dlroof_program)'\n";
  if (completion.paths == Completion::Paths::kFolders)
    return begin + " -f -a '(__fish_complete_directories)'\n";
  auto line = begin + (completion.paths == Completion::Paths::kFiles ? " -F" : " -f");
  if (!completion.words.empty())
    line += " -a " + Quoted(fmt::format("{}", fmt::join(completion.words, " ")));
  return line + '\n';
}

std::string CommandLines(const Command& command, const TypeCompletions& types) {
  const auto at = [&](const std::string& suffix) {
    return fmt::format("complete -c {} -n '__dlroof_at \"{}\"'", command.path.front(),
                       command.Path() + suffix);
  };
  const auto begin = at("");
  std::string text;
  for (const auto& subcommand : command.subcommands)
    text +=
        fmt::format("{} -f -a {} -d {}\n", begin, subcommand.path.back(), Quoted(subcommand.about));
  bool positional = false;
  for (const auto& argument : command.arguments) {
    positional = positional || argument.positional;
    text += argument.positional ? PositionalLine(argument, begin, at(" --"), types)
                                : FlagLine(argument, begin, types);
  }
  return positional || !command.subcommands.empty() ? text : text + begin + " -f\n";
}

}  // namespace

std::string FishCompletion(const Completed& completed) {
  std::vector<std::string> paths;
  std::string lines;
  for (const auto& program : completed.programs)
    for (const Command* command : WithSubcommands(program)) {
      paths.push_back('"' + command->Path() + '"');
      lines += CommandLines(*command, completed.types);
    }
  std::string text =
      "# Completion of dlroof's programs in fish. Made by `dlroof completion fish`.\n";
  text += fmt::format("set -g __dlroof_paths {}\n", fmt::join(paths, " "));
  text += TextOf(ShellFunctions(), "fish");
  return text + lines;
}

}  // namespace dlroof::command_line
