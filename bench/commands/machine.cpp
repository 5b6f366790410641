// dlroof machine: what this machine can do.
#include "bench/gpu/machine.h"

#include <fmt/format.h>

#include <functional>
#include <iostream>
#include <memory>

#include "bench/commands/commands.h"
#include "bench/run/run_context.h"
#include "ceilings/cache/machine_cache.h"
#include "ceilings/machine/progress.h"
#include "counters/base/error.h"
#include "counters/base/interrupt.h"
#include "counters/cpu/cpu.h"
#include "reporters/terminal/ceilings_table.h"
#include "reporters/text/text.h"

namespace dlroof {
namespace {

// Throws BadInput where the device cannot be used.
Machine MachineOf(const std::string& device, const MachineOptions& options) {
  constexpr const char* kFlag = "--device";
  const auto choice = ParseDevice(device, kFlag);
  if (!choice.gpu_asked) return CachedOrMeasuredCpu(options, std::cerr);
  if (!options.threads.empty())
    throw BadInput("--threads: a GPU's ceilings are those of the whole GPU");
  const auto access = AccessGpu(choice, kFlag);
  if (!access.why_not.empty())
    throw BadInput(fmt::format("{}={}: {}", kFlag, device, access.why_not));
  StopOnInterrupt();  // what is known by then is written
  const auto machine = CachedOrMeasuredGpu(access, options, std::cerr);
  if (!machine)
    throw BadInput(fmt::format("{}={}: this build has no ceilings of GPUs", kFlag, device));
  return *machine;
}

void ShowMachine(MachineOptions options, const std::string& device, const std::string& output) {
  ProgressPrinter progress(std::cerr, StderrIsTerminal());
  options.progress = std::ref(progress);
  const Machine machine = MachineOf(device, options);
  WriteCeilings({machine}, TerminalColumns(), std::cout);
  std::cout << std::flush;
  if (output.empty()) return;
  WriteMachineFile(machine, output);
  std::cerr << "wrote " << output << '\n';
}

void AddMachineCommand(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<MachineOptions>();
  auto output = std::make_shared<std::string>();
  auto device = std::make_shared<std::string>("cpu");
  auto* command =
      program.add_subcommand("machine", "measure this machine's ceilings, or show the cached ones");
  command->add_option("--device", *device, "cpu (default), gpu, gpu1 (the second GPU)");
  command->add_flag("--remeasure", options->remeasure, "measure again even if cached");
  auto* quick =
      command->add_flag("--quick", options->quick, "in a few seconds, with fewer repetitions");
  command
      ->add_flag("--thorough", options->thorough,
                 "measure again, for minutes: more repetitions, every pipe for 10 s on end")
      ->excludes(quick);
  command
      ->add_option("--threads", options->threads,
                   "thread counts (default: 1 and all CPUs allowed; --thorough: also 2, 4, 8 ... "
                   "between them)")
      ->check(CLI::Range(1, 4096));
  command->add_option("-o,--output", *output, "also write the machine file");
  command->callback([options, device, output, &exit_code] {
    RefuseForeignPinning();
    ShowMachine(*options, *device, *output);
    exit_code = StoppedByInterrupt() ? 130 : 0;
  });
}

[[maybe_unused]] const bool machine_registered = RegisterCommand("machine", AddMachineCommand);
}  // namespace

}  // namespace dlroof
