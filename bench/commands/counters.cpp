// dlroof counters: what NVIDIA's hardware counters can tell on a chip that need not be there.
#include <iostream>
#include <memory>

#include "bench/commands/commands.h"
#include "counters/cupti/report.h"

namespace dlroof::commands {
namespace {

void AddCountersCommand(CLI::App& program, int& /*exit_code*/) {
  auto chip = std::make_shared<std::string>();
  auto* command = program.add_subcommand(
      "counters", "which counters of NVIDIA's chips are read, and in how many runs of a call");
  command->add_option("--chip", *chip, "one chip's metrics: GH100 (H100, H200), GA100, AD102, ...");
  command->callback([chip] {
    std::cout << cupti::CountersText(cupti::BuiltInCuptiTable(), cupti::BuiltInStoredPasses(), *chip) << std::flush;
  });
}

[[maybe_unused]] const bool counters_registered = RegisterCommand("counters", AddCountersCommand);
}  // namespace

}  // namespace dlroof::commands
