// dlroof machine: shows the ceilings of this machine, or of another one with known rates.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>

#include "bench/commands/commands.h"
#include "bench/gpu_loader/loader.h"
#include "bench/runner/run_context.h"
#include "ceilings/machine/rate.h"
#include "ceilings/machine_file/machine_cache.h"
#include "ceilings/machine_file/specified_machine.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/process.h"
#include "counters/cpu/cpu.h"
#include "reporters/document/document.h"
#include "reporters/document/tables.h"

namespace dlroof::commands {
namespace {

// Returns this machine's ceilings. Throws BadInput if the device cannot be used, or if CPU pinning
// or a thread limit of this process would falsify them.
machine::Machine MachineOf(const std::string& device, const machine_file::MachineOptions& options) {
  const int allowed = static_cast<int>(cpu::ThisCpu().allowed.size());
  runner::RefusePinning();
  runner::RefuseThreadLimit(options.threads.empty() ? allowed : std::ranges::max(options.threads));
  constexpr const char* kFlag = "--device";
  const auto choice = gpu_loader::ParseDevice(device, kFlag);
  if (!choice.gpu_requested) return machine_file::CachedOrMeasuredCpu(options, std::cerr);
  if (!options.threads.empty())
    throw BadInput("--threads: only for the CPU; a GPU's ceilings are those of the whole GPU");
  const auto access = gpu_loader::AccessGpu(choice, kFlag);
  if (access.reason) throw BadInput("{}={}: {}", kFlag, device, access.reason->text);
  StopOnInterrupt();  // an interrupt ends measuring, not the report
  const auto machine = gpu_loader::CachedOrMeasuredGpu(access, options, std::cerr);
  if (!machine) throw BadInput("{}={}: this build cannot measure ceilings of GPUs", kFlag, device);
  return *machine;
}

struct MachineFlags {
  machine_file::MachineOptions measure;
  std::string device = "cpu";
  std::optional<std::string> named;  // machine file or known GPU to show instead of this machine
  std::optional<std::string> output;
};

void ShowMachine(MachineFlags flags) {
  machine::ProgressPrinter progress(std::cerr, machine::StderrIsTerminal());
  flags.measure.progress = std::ref(progress);
  const machine::Machine machine = flags.named ? machine_file::ReadMachineFile(*flags.named)
                                               : MachineOf(flags.device, flags.measure);
  document::Print(document::CeilingsDocument({machine}));
  std::cout << std::flush;
  if (const auto warning = machine_file::NotValidatedWarning(machine); warning && !flags.named)
    std::cerr << *warning;
  if (!flags.output) return;
  PartFile output(*flags.output);
  output.Write(machine_file::MachineFileText(machine));
  output.End(!StoppedByInterrupt(), std::cerr);
  if (!StoppedByInterrupt()) std::cerr << "wrote " << *flags.output << '\n';
}

Command MakeMachine() {
  auto flags = std::make_shared<MachineFlags>();
  return {
      .name = "machine",
      .about = "measure or show the ceilings (roofs) of this machine, or show another machine's",
      .options =
          {Ruled("MACHINE", {.type = kMachine}, &flags->named,
                 fmt::format(
                     "machine file to show, or a GPU with published rates and their sources: {}",
                     fmt::join(machine_file::KnownGpuNames(), ", "))),
           Ruled("--device", {.type = "DEVICE", .excludes = {"MACHINE"}}, &flags->device,
                 "device to measure: cpu (default), gpu, gpu1 (the second GPU)"),
           Ruled("--remeasure", {.excludes = {"MACHINE"}}, &flags->measure.remeasure,
                 "measure again even if there are cached ceilings"),
           Ruled("--quick", {.excludes = {"MACHINE"}}, &flags->measure.quick,
                 "measure in a few seconds, with fewer repetitions"),
           Ruled("--thorough", {.excludes = {"--quick", "MACHINE"}}, &flags->measure.thorough,
                 "measure again for minutes, with more repetitions and each pipe for 10 s without "
                 "a pause"),
           Ruled("--threads", {.limits = Range{1, 4096}, .excludes = {"MACHINE"}},
                 &flags->measure.threads,
                 "thread counts (default: 1 and all CPUs that the process may use; with --thorough "
                 "also 2, 4, 8, ... between them)"),
           Ruled("-o,--output", {.type = kFile}, &flags->output,
                 "also write the machine file, which can be changed by hand")},
      .run = [flags] {
        ShowMachine(*flags);
        return StoppedByInterrupt() ? InterruptCode() : 0;
      }};
}

[[maybe_unused]] const bool machine_registered = RegisterCommand(MakeMachine);

}  // namespace
}  // namespace dlroof::commands
