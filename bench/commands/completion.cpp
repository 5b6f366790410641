// dlroof completion: writes the script by which bash completes the command lines of all programs.
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
  const auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash")->required()->check(CLI::IsMember({"bash"}));
  command->callback([&program, shell] {
    std::cout << command_line::BashCompletion(DescribePrograms(program)) << std::flush;
  });
}

[[maybe_unused]] const bool completion_registered =
    RegisterCommand("completion", AddCompletionCommand);

}  // namespace
}  // namespace dlroof::commands
