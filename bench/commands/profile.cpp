// dlroof profile: shows a program's oneDNN calls under the roofs of this CPU (by oneDNN's verbose
// mode) or, with --gpu, its kernels under the roofs of a GPU (by Nsight Compute).
#include "bench/profile/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/commands/commands.h"
#include "bench/gpu_loader/loader.h"
#include "ceilings/machine_file/machine_cache.h"
#include "ceilings/machine_file/specified_machine.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/process.h"
#include "counters/gpu/session.h"
#include "reporters/document/document.h"
#include "reporters/document/tables.h"
#include "reporters/imports/import.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::commands {
namespace {

struct ProfileFlags {
  bool gpu = false;
  gpu::NcuChoice choice;
  profile::GpuProfileRequest request;  // without --gpu only `program`
};

// Returns the chip called `name`; by default a chip of this machine's compute capability.
const gpu::CuptiChip& ChipOf(const std::optional<std::string>& name) {
  const auto& table = gpu::BuiltInCuptiTable();
  std::string reason;
  if (name) {
    if (const auto* chip = gpu::FindChip(table, *name)) return *chip;
    reason = fmt::format("--chip {}: unknown chip", *name);
  } else {
    const auto access = gpu_loader::AccessGpu(gpu_loader::ParseDevice("gpu", "profile"), "profile");
    if (access.reason) {
      reason = access.reason->text;
    } else {
      const auto facts = access.module->describe(access.device.number).facts;
      const auto found = facts.find("gpu.compute_capability");
      for (const auto& chip : table.chips)
        if (found != facts.end() && found->second == gpu::CapabilityText(chip)) return chip;
      reason = "the table of counters has no chip like this GPU";
    }
  }
  throw BadInput("profile: {}; expected --chip with one of {}", reason, gpu::ChipNames(table));
}

// Runs the program under ncu and then prints its output. Returns ncu's table as CSV.
std::string NcuTable(const ProfileFlags& flags) {
  const auto metrics = gpu::NcuMetrics(gpu::BuiltInCuptiTable(), ChipOf(flags.request.chip));
  try {
    gpu::NcuChoice choice = flags.choice;
    choice.program = profile::FindNcu();
    auto [ran, table] = profile::RunNcu(choice, metrics, flags.request.program.command);
    std::cout << ran.out << std::flush;
    std::cerr << ran.err;
    if (ran.exit_code != 0)
      std::cerr << fmt::format("dlroof: ncu, or the program that it ran, ended with exit code {}\n",
                               ran.exit_code);
    return table;
  } catch (const BadInput& refused) {
    throw BadInput("profile: {}", refused.text);
  }
}

// Returns whether the user chose the launches to count, so that no trace is needed to choose them.
bool ChoosesLaunches(const ProfileFlags& flags) {
  const gpu::NcuChoice none;
  return flags.choice.kernels != none.kernels || flags.choice.skip != none.skip ||
         flags.choice.launches != none.launches;
}

// Runs the program once under ncu, without a trace, and reports the counted launches.
void CountLaunches(const ProfileFlags& flags) {
  const auto& [command, output, log, machine_name, threads, steps, pipe, most_seconds, torch] =
      flags.request.program;
  if (steps || flags.request.trace_folder || flags.request.stored_trace || most_seconds ||
      flags.request.budget_seconds)
    throw BadInput(
        "profile: --kernel, --skip and --launches count launches without a trace, and "
        "do not go with --steps, --trace, --from-trace, --duration and --budget");
  std::optional<machine::Machine> machine;
  if (machine_name && machine_name != "none")
    machine = machine_file::ReadMachineFile(*machine_name);
  auto imported = imports::ImportNsightCompute(NcuTable(flags), "ncu's table");
  for (const auto& remark : imported.remarks) std::cerr << "dlroof: " << remark << '\n';
  const auto set = std::filesystem::path(command.front()).filename().string();
  record::RunFile run =
      imports::ImportedRun(std::move(imported.records), machine, {set, {}}, std::cerr);
  run.context["dlroof"]["command"] =
      fmt::format("dlroof profile --gpu -- {}", fmt::join(command, " "));
  WriteFile(output, JsonText(roofline::ToJson(run)) + '\n');
  document::Print(document::RunDocument(roofline::PlaceRun(run)));
  std::cout << std::flush;
  std::cerr << "wrote " << output << '\n';
}

int ProfileGpu(const ProfileFlags& flags) {
  const auto& program = flags.request.program;
  if (program.log || program.threads || program.pipe)
    throw BadInput("profile: --log, --threads and --pipe do not apply to --gpu");
  if (program.torch && (flags.request.stored_trace || ChoosesLaunches(flags)))
    throw BadInput(
        "profile: --torch marks the modules of a program that is traced, and does not go with "
        "--from-trace, --kernel, --skip and --launches");
  { const PartFile probe(program.output); }  // refuses a file that cannot be written
  if (ChoosesLaunches(flags)) {
    CountLaunches(flags);
    return 0;
  }
  if (!flags.request.stored_trace && !profile::CanTraceGpuPrograms()) {
    ChipOf(flags.request.chip);  // rejects an unknown chip before other messages
    std::cerr << "dlroof: this build has no library that traces programs "
                 "(libdlroof_gpu_trace.so: build it where a CUDA toolkit is): counting every "
                 "launch by Nsight Compute\n";
    CountLaunches(flags);
    return 0;
  }
  return profile::ProfileGpuProgram(flags.request, std::cerr);
}

int Profile(const ProfileFlags& flags) {
  const auto& [program, trace_folder, stored_trace, budget_seconds, chip] = flags.request;
  if (program.command.empty() && !(flags.gpu && stored_trace))
    throw BadInput("profile: expected a program: dlroof profile [OPTIONS] -- COMMAND...");
  if (stored_trace && !program.command.empty())
    throw BadInput("profile: --from-trace reports a stored trace and runs no program");
  if (flags.gpu) return ProfileGpu(flags);
  if (chip || trace_folder || stored_trace || budget_seconds || ChoosesLaunches(flags))
    throw BadInput(
        "profile: --chip, --kernel, --skip, --launches, --trace, "
        "--from-trace and --budget apply only with --gpu");
  return profile::ProfileProgram(program, std::cerr);
}

std::vector<Option> ProgramOptions(ProfileFlags& flags) {
  auto& program = flags.request.program;
  return {
      Ruled("--machine", {.type = kMachine}, &program.machine,
            "machine with the roofs (default: this CPU, cached or measured before the program "
            "starts); none, or " +
                machine_file::MachineChoices()),
      Ruled("-o,--output", {.type = kFile}, &program.output,
            "run file to write (default profile.json)"),
      Ruled("--log", {.type = kFile}, &program.log, "also write oneDNN's verbose log to this file"),
      Ruled("--threads", {.limits = AboveZero{}}, &program.threads,
            "number of threads of the program's library (default: from its log)"),
      Ruled("--steps", {.limits = AboveZero{}}, &program.steps,
            "number of equal steps of the program (default: detected)"),
      Ruled("--duration", {.limits = AboveZero{}}, &program.most_seconds,
            "end the program after this many seconds and report the data until then"),
      {"--pipe", &program.pipe,
       "give the program a pipe as standard output instead of a socket, for programs that open "
       "/dev/stdout; its lines then do not name their process"},
      {"--torch", &program.torch,
       "also run PyTorch's profiler in the unchanged program: its operators and modules join the "
       "breakdown; with --gpu: mark modules and operators as NVTX ranges, to which kernels are "
       "attributed"},
      Ruled("COMMAND", {.type = runner::kProgram}, &program.command,
            "the program and its arguments, after --")};
}

std::vector<Option> GpuOptions(ProfileFlags& flags) {
  auto& request = flags.request;
  return {
      {"--gpu", &flags.gpu,
       "trace the program's work on GPUs, and count its kernels by Nsight Compute in a second run; "
       "roofs come only from --machine"},
      Ruled("--budget", {.limits = AtLeastZero{}}, &request.budget_seconds,
            fmt::format("with --gpu: seconds that counting may take, the kernels with most time "
                        "first (default {:.0f}); 0: the trace alone",
                        profile::kCountingSeconds)),
      Ruled("--trace", {.type = kFolder}, &request.trace_folder,
            "with --gpu: keep the trace's files in this new or empty folder"),
      Ruled("--from-trace", {.type = kFolder}, &request.stored_trace,
            "with --gpu: report the trace in this folder; no program is run"),
      {"--chip", &request.chip, "with --gpu: the GPU's chip, such as GH100 (default: detected)"},
      {"--kernel", &flags.choice.kernels,
       "with --gpu: count only kernels whose name matches this regular expression, without a "
       "trace"},
      Ruled("--skip", {.limits = AtLeastZero{}}, &flags.choice.skip,
            "with --gpu: number of launches to skip before the counted ones, without a trace"),
      Ruled("--launches", {.limits = AboveZero{}}, &flags.choice.launches,
            "with --gpu: largest number of launches to count, without a trace")};
}

Command MakeProfile() {
  auto flags = std::make_shared<ProfileFlags>();
  Command command{
      .name = "profile",
      .about =
          "run any program that uses oneDNN (PyTorch, TensorFlow, your own) and place its "
          "primitives on the roofs; the program's output and exit code do not change, the report "
          "goes to standard error. With --gpu: its work on GPUs, traced, and its kernels, counted "
          "by Nsight Compute (ncu)",
      .options = ProgramOptions(*flags),
      .run = [flags] { return Profile(*flags); }};
  std::ranges::move(GpuOptions(*flags), std::back_inserter(command.options));
  return command;
}

[[maybe_unused]] const bool profile_registered = RegisterCommand(MakeProfile);

}  // namespace
}  // namespace dlroof::commands
