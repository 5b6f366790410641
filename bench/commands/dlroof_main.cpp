// dlroof: everything that reads or makes files.
#include <CLI/CLI.hpp>
#include <iostream>

#include "bench/commands/commands.h"
#include "counters/base/error.h"
#include "counters/base/version.h"

namespace {

int Run(int argc, char** argv) {
  using namespace dlroof;
  CLI::App program("dlroof: rooflines of deep learning benchmarks (measure with dlroof_bench)",
                   "dlroof");
  program.set_version_flag("--version", std::string(kVersion) + " (" + kCommit + ")");
  program.require_subcommand(1);
  int exit_code = 0;
  for (const auto& [name, add] : Commands()) add(program, exit_code);
  KeepWordsAfterDashes(argc, argv);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return program.exit(asked);
  } catch (const CLI::ParseError& error) {
    std::cerr << "dlroof: " << error.what() << " (dlroof --help lists commands and flags)\n";
    return 2;
  }
  // Checks the output of every command: a full disk cuts it off.
  if (!std::cout.flush()) throw BadInput("standard output: not all could be written (disk full?)");
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const dlroof::BadInput& error) {
    std::cerr << "dlroof: " << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "dlroof: " << error.what() << '\n';
    return 1;
  }
}
