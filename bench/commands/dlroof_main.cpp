// dlroof: the commands that read, write and compare files. dlroof_bench measures.
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
