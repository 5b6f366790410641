// dlroof completion: writes the script by which bash completes the command lines of all programs,
// or the table of their flags.
#include <iostream>
#include <memory>

#include "bench/commands/commands.h"
#include "bench/commands/programs.h"

namespace dlroof::commands {
namespace {

void AddCompletionCommand(CLI::App& program, int& /*exit_code*/) {
  auto* command = program.add_subcommand(
      "completion",
      "complete commands, flags, choices and files in bash: source <(dlroof completion bash)");
  const auto form = std::make_shared<std::string>();
  command
      ->add_option("FORM", *form,
                   "bash: the script; table: every flag of every command, for other programs: "
                   "columns, separated by tabs, for the command, the flag, what it takes, whether "
                   "it is required, and its choices")
      ->required()
      ->check(CLI::IsMember({"bash", "table"}));
  command->callback([&program, form] {
    const auto completed = DescribePrograms(program);
    std::cout << (*form == "bash" ? command_line::BashCompletion(completed)
                                  : command_line::WriteFlagTable(completed.programs))
              << std::flush;
  });
}

[[maybe_unused]] const bool completion_registered =
    RegisterCommand("completion", AddCompletionCommand);

}  // namespace
}  // namespace dlroof::commands
