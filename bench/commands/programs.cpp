#include "bench/commands/programs.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "bench/runner/bench_flags.h"
#include "bench/suites/suite.h"
#include "ceilings/machine_file/specified_machine.h"
#include "counters/base/files.h"

namespace dlroof::commands {
namespace {

using command_line::Completion;

Completion WordsOrFiles(std::vector<std::string> words, bool comma = false) {
  return {.words = std::move(words), .paths = Completion::Paths::kFiles, .comma = comma};
}

std::vector<std::string> NamesOf(const std::vector<EmbeddedFile>& files) {
  std::vector<std::string> names;
  for (const auto& file : files) names.emplace_back(file.name);
  return names;
}

command_line::TypeCompletions Types() {
  const auto gpus = machine_file::KnownGpuNames();
  return {{command_line::kFile, WordsOrFiles({})},
          {command_line::kFolder, {.paths = Completion::Paths::kFolders}},
          {command_line::kSuite, WordsOrFiles(NamesOf(suites::BuiltInSuites()), true)},
          {command_line::kMachine, WordsOrFiles({gpus.begin(), gpus.end()})},
          {command_line::kBenchmark, WordsOrFiles({})},
          {command_line::kFlag, {.bench_flags = true}},
          {command_line::kProgram, {.any_program = true}},
          {"DEVICE", {.words = {"auto", "cpu", "gpu"}}}};
}

}  // namespace

command_line::Completed DescribePrograms(CLI::App& dlroof) {
  return {.programs = {command_line::Describe(dlroof, {"dlroof"}), runner::DescribeProgram()},
          .types = Types()};
}

}  // namespace dlroof::commands
