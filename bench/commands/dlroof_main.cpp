// dlroof: the commands that read, write and compare files. dlroof_bench measures.
#include <CLI/CLI.hpp>
#include <iostream>

#include "bench/commands/commands.h"
#include "counters/base/program.h"
#include "counters/base/version.h"

namespace {

int Run(int argc, char** argv) {
  using namespace dlroof;
  using namespace dlroof::commands;
  CLI::App program("dlroof: rooflines of deep learning benchmarks (measure with dlroof_bench)",
                   "dlroof");
  program.set_version_flag("--version", std::string(kVersion) + " (" + kCommit + ")");
  program.require_subcommand(1);
  int exit_code = 0;
  for (const auto& [name, add] : Commands()) add(program, exit_code);
  StoreWordsAfterDashes(argc, argv);
  RefuseUnknownCommand(program, {argv + std::min(argc, 1), argv + argc});
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return program.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    std::cerr << "dlroof: " << error.what() << " (dlroof --help lists commands and flags)\n";
    return 2;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  return dlroof::RunProgram("dlroof", [&] { return Run(argc, argv); });
}
