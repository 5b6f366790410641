// dlroof completion: writes scripts by which shells complete the command lines of all programs.
#include <filesystem>
#include <iostream>
#include <memory>

#include "bench/commands/commands.h"
#include "bench/commands/programs.h"
#include "counters/base/error.h"
#include "counters/base/files.h"

namespace dlroof::commands {
namespace {

struct CompletionFlags {
  std::string shell;
  std::optional<std::string> folder;
};

// Writes the files of a shell's packages below the folder.
void WriteFiles(const command_line::Shell& shell, const command_line::Completed& completed,
                const std::filesystem::path& share) {
  const auto folder = share / shell.folder;
  CreateFolder(folder);
  const auto script = shell.script(completed);
  for (const auto& program : completed.programs) {
    WriteFile(folder / (shell.prefix + program.path.back() + shell.suffix), script);
    if (shell.one_file) return;
  }
}

void WriteCompletions(CLI::App& program, const CompletionFlags& flags) {
  if (!flags.folder && flags.shell == "all")
    throw BadInput("completion all: expected -o with the folder for the shells' files");
  const auto completed = DescribePrograms(program);
  for (const auto& shell : command_line::Shells()) {
    if (shell.name != flags.shell && flags.shell != "all") continue;
    if (flags.folder)
      WriteFiles(shell, completed, *flags.folder);
    else
      std::cout << shell.script(completed) << std::flush;
  }
}

void AddCompletionCommand(CLI::App& program, int& /*exit_code*/) {
  auto* command = program.add_subcommand(
      "completion",
      "complete commands, flags, choices and files in a shell: source <(dlroof completion bash)");
  auto flags = std::make_shared<CompletionFlags>();
  std::vector<std::string> shells = {"all"};
  for (const auto& shell : command_line::Shells()) shells.emplace_back(shell.name);
  command->add_option("SHELL", flags->shell, "bash, zsh, fish, or with -o all of them")
      ->required()
      ->check(CLI::IsMember(shells));
  command
      ->add_option("-o,--output", flags->folder,
                   "write the files that a shell looks for in DIR, such as /usr/share, instead of "
                   "the script to standard output")
      ->type_name(command_line::kFolder);
  command->callback([&program, flags] { WriteCompletions(program, *flags); });
}

[[maybe_unused]] const bool completion_registered =
    RegisterCommand("completion", AddCompletionCommand);

}  // namespace
}  // namespace dlroof::commands
