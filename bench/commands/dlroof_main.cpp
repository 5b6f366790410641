// The program dlroof, whose commands read, write and compare files, or start dlroof_bench.
#include "bench/commands/commands.h"
#include "counters/base/program.h"
#include "counters/base/version.h"

int main(int argc, char** argv) {
  using namespace dlroof;
  return RunProgram("dlroof", [&] {
    const auto version = std::string(kVersion) + " (" + kCommit + ")";
    return runner::Run(commands::Program(), version, argc, argv);
  });
}
