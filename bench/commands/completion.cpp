// dlroof completion: what a shell needs to complete the command lines of both programs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "bench/commands/commands.h"
#include "bench/suites/suite.h"

namespace dlroof::commands {

const std::vector<EmbeddedFile>& CompletionScripts();  // of the room's *.bash files

namespace {

// Appends a line per command: its path, its subcommands and its flags.
void AppendWords(const CLI::App& command, const std::string& path, std::string& text) {
  const auto subcommands = command.get_subcommands({});
  std::vector<std::string> words(subcommands.size());
  std::transform(subcommands.begin(), subcommands.end(), words.begin(),
                 [](const CLI::App* subcommand) { return subcommand->get_name(); });
  for (const CLI::Option* option : command.get_options())
    for (const auto& name : option->get_lnames())
      if (!option->get_group().empty()) words.push_back("--" + name);
  text += fmt::format("    '{}') echo '{}' ;;\n", path, fmt::join(words, " "));
  for (const CLI::App* subcommand : subcommands)
    AppendWords(*subcommand, fmt::format("{} {}", path, subcommand->get_name()), text);
}

std::string BashScript(const CLI::App& program) {
  std::string text = "_dlroof_words() {\n  case $1 in\n";
  AppendWords(program, "", text);
  text += "    *) return 1 ;;\n  esac\n}\n_dlroof_suites='";
  for (const auto& suite : suites::BuiltInSuites()) text.append(suite.name) += ' ';
  return text.append("'\n").append(CompletionScripts().front().text);
}

void AddCompletionCommand(CLI::App& program, int& /*exit_code*/) {
  auto* command = program.add_subcommand(
      "completion", "completes commands, flags and suites: source <(dlroof completion bash)");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash")->required()->check(CLI::IsMember({"bash"}));
  command->callback([&program, shell] { std::cout << BashScript(program) << std::flush; });
}

[[maybe_unused]] const bool completion_registered =
    RegisterCommand("completion", AddCompletionCommand);
}  // namespace

}  // namespace dlroof::commands
