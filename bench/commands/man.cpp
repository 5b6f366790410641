// dlroof man: writes manual pages of all programs and commands.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "bench/command_line/flag_table.h"
#include "bench/command_line/man_page.h"
#include "bench/commands/commands.h"
#include "bench/commands/programs.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/nearest_name.h"
#include "counters/base/version.h"

namespace dlroof::commands {

const std::vector<EmbeddedFile>& ManualTexts();  // manual/*.txt, embedded

namespace {

using command_line::Command;
using command_line::ManualSection;

struct ManFlags {
  std::vector<std::string> words;
  std::optional<std::string> folder;
  bool table = false;
};

// Returns the sections of a page: those of its own text, and of common.txt what it lacks.
std::vector<ManualSection> SectionsOf(const std::string& page) {
  std::vector<ManualSection> sections;
  for (const auto& name : {page, std::string("common")})
    for (const auto& text : ManualTexts()) {
      if (text.name != name) continue;
      for (auto& section : command_line::ReadManualText(text.text, name + ".txt"))
        if (std::ranges::count(sections, section.title, &ManualSection::title) == 0)
          sections.push_back(std::move(section));
    }
  return sections;
}

// Takes the section with the title out of the sections. Returns the terms of its entries.
std::vector<std::string> TakeTerms(const char* title, std::vector<ManualSection>& sections) {
  std::vector<std::string> terms;
  for (const auto& section : sections)
    if (section.title == title)
      for (const auto& entry : section.entries) terms.push_back(entry.term);
  std::erase_if(sections, [&](const ManualSection& section) { return section.title == title; });
  return terms;
}

// Returns the pages that a page refers to: the one above it, the programs, and those of its text.
std::vector<std::string> SeeAlso(const Command& command, const std::vector<std::string>& others) {
  std::vector<std::string> pages;
  if (command.path.size() > 2)
    pages.push_back(fmt::format("{}-{}", command.path[0], command.path[1]));
  pages.insert(pages.end(), others.begin(), others.end());
  for (const char* program : {"dlroof", "dlroof_bench"})
    if (std::ranges::count(pages, program) == 0) pages.emplace_back(program);
  std::erase(pages, command_line::PageName(command));
  return pages;
}

std::string PageOf(const Command& command) {
  auto sections = SectionsOf(command_line::PageName(command));
  const auto others = TakeTerms("SEE ALSO", sections);
  return command_line::WriteManPage(
      {.command = command, .sections = std::move(sections), .see_also = SeeAlso(command, others)},
      {.version = kVersion, .date = kReleaseDate});
}

std::vector<const Command*> AllCommands(const std::vector<Command>& programs) {
  std::vector<const Command*> all;
  for (const auto& program : programs) {
    const auto below = command_line::WithSubcommands(program);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

// Returns the command of the page that the words name: "compare", "cluster script",
// "dlroof-cluster-script" or "dlroof_bench"; no words are "dlroof". Throws BadInput if there is
// none.
const Command& Find(const std::vector<const Command*>& commands,
                    const std::vector<std::string>& words) {
  const auto name = words.empty() ? "dlroof" : fmt::format("{}", fmt::join(words, "-"));
  std::vector<std::string> known;
  for (const Command* command : commands) {
    const auto page = command_line::PageName(*command);
    if (page == name || page == "dlroof-" + name) return *command;
    known.push_back(page.starts_with("dlroof-") ? page.substr(7) : page);
  }
  throw BadInput(UnknownName("manual page", name, NearestName(name, known), "dlroof"));
}

void WriteManual(CLI::App& program, const ManFlags& flags) {
  const auto programs = DescribePrograms(program).programs;
  if (flags.table) {
    std::cout << command_line::WriteFlagTable(programs) << std::flush;
    return;
  }
  const auto commands = AllCommands(programs);
  if (!flags.folder) {
    std::cout << PageOf(Find(commands, flags.words)) << std::flush;
    return;
  }
  if (!flags.words.empty()) throw BadInput("man: --output writes all pages; expected no COMMAND");
  const std::filesystem::path folder = *flags.folder;
  CreateFolder(folder);
  for (const Command* command : commands)
    WriteFile(folder / (command_line::PageName(*command) + ".1"), PageOf(*command));
}

void AddManCommand(CLI::App& program, int& /*exit_code*/) {
  auto* command =
      program.add_subcommand("man", "write a manual page: dlroof man compare | man -l -");
  auto flags = std::make_shared<ManFlags>();
  command->add_option("COMMAND", flags->words, "command, or dlroof_bench (default: dlroof itself)");
  auto* output =
      command
          ->add_option("-o,--output", flags->folder,
                       "write all pages to this folder, instead of one to standard output")
          ->type_name(command_line::kFolder);
  command
      ->add_flag("--table", flags->table,
                 "list every flag of every command, for scripts: columns, separated by tabs, for "
                 "the command, the flag, what it takes, whether it is required, and its choices")
      ->excludes(output);
  command->callback([&program, flags] { WriteManual(program, *flags); });
}

[[maybe_unused]] const bool man_registered = RegisterCommand("man", AddManCommand);

}  // namespace
}  // namespace dlroof::commands
