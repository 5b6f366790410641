// dlroof profile: any program's calls of oneDNN on the roofs of this CPU, by its verbose mode; with
// --gpu its kernels on the roofs of a GPU, by Nsight Compute.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/commands/commands.h"
#include "bench/gpu_loader/loader.h"
#include "bench/profile/profile_program.h"
#include "bench/profile/replay.h"
#include "ceilings/machine_file/machine_cache.h"
#include "ceilings/machine_file/specified_machine.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/process.h"
#include "counters/base/version.h"
#include "counters/cupti/table.h"
#include "reporters/imports/import.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/terminal/tables.h"
#include "reporters/text/text.h"

namespace dlroof::commands {
namespace {

struct ProfileFlags {
  bool gpu = false;
  std::string chip, ncu, bench;
  int replay = 0;  // [1] primitives
  cupti::NcuChoice choice;
  profile::ProfileRequest program;  // its command, machine and output also with --gpu
};

// In PATH, else where CUDA and Nsight Compute put it, the newest last.
std::string FindNcu() {
  if (IsInPath("ncu")) return "ncu";
  std::vector<std::filesystem::path> folders = {"/usr/local/cuda/bin"};
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/opt/nvidia/nsight-compute", error))
    folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder)
    if (std::filesystem::exists(*folder / "ncu", error)) return *folder / "ncu";
  throw BadInput(
      "profile: there is no ncu in PATH, /usr/local/cuda/bin or /opt/nvidia/nsight-compute: "
      "install "
      "Nsight Compute (package nsight-compute, or the CUDA toolkit), or name it with --ncu");
}

// The chip that was named, else one with the capability of the GPU that is here.
const cupti::CuptiChip& ChipOf(const std::string& name) {
  const auto& table = cupti::BuiltInCuptiTable();
  std::string reason;
  if (!name.empty()) {
    if (const auto* chip = cupti::FindChip(table, name)) return *chip;
    reason = fmt::format("--chip {}: no such chip", name);
  } else {
    const auto access = gpu_loader::AccessGpu(gpu_loader::ParseDevice("gpu", "profile"), "profile");
    if (access.reason) {
      reason = access.reason->text;
    } else {
      const auto facts = access.module->describe(access.device.number).facts;
      const auto found = facts.find("gpu.compute_capability");
      for (const auto& chip : table.chips)
        if (found != facts.end() &&
            found->second ==
                fmt::format("{}.{}", chip.compute_capability / 10, chip.compute_capability % 10))
          return chip;
      reason = "the table of counters has no chip like this GPU";
    }
  }
  throw BadInput("profile: {}; expected --chip with one of those that dlroof counters lists",
                 reason);
}

// Returns the text that ncu wrote. Its program's output goes where it would go without ncu, but
// later.
std::string NcuTable(const ProfileFlags& flags) {
  const TemporaryFolder folder;
  cupti::NcuChoice choice = flags.choice;
  choice.program = flags.ncu.empty() ? FindNcu() : flags.ncu;
  choice.table = folder / "table";
  const auto ran = RunChild(
      cupti::NcuCommand(choice, cupti::NcuMetrics(cupti::BuiltInCuptiTable(), ChipOf(flags.chip)),
                        flags.program.command));
  std::cout << ran.out << std::flush;
  std::cerr << ran.err;
  const auto table = ReadFileIfAny(choice.table);
  if (!imports::LooksLikeNsightCompute(table))
    throw BadInput("profile: " + cupti::WhyNoNcuTable(table + ran.out + ran.err, ran.exit_code));
  if (ran.exit_code != 0)
    std::cerr << fmt::format("dlroof: ncu, or the program under it, ended with exit code {}\n",
                             ran.exit_code);
  return table;
}

void ProfileGpu(const ProfileFlags& flags) {
  const auto& [command, output, log, machine_name, threads, steps, turns, read, complete] =
      flags.program;
  if (!log.empty() || threads || steps || turns > 0 || !read.empty() || complete)
    throw BadInput(
        "profile: --log, --threads, --steps, --verify-overhead, --read and --replay are of a "
        "program's calls of oneDNN, not of --gpu");
  std::optional<machine::Machine> machine;
  if (!machine_name.empty() && machine_name != "none")
    machine = machine_file::ReadMachineFile(machine_name);
  auto imported = imports::ImportNsightCompute(NcuTable(flags), "ncu's table");
  for (const auto& remark : imported.remarks) std::cerr << "dlroof: " << remark << '\n';
  const auto set = std::filesystem::path(command.front()).filename().string();
  record::RunFile run =
      imports::ImportedRun(std::move(imported.records), machine, {set, {}}, std::cerr);
  run.context["dlroof"] = {
      {"schema", record::kSchema},
      {"version", kVersion},
      {"commit", kCommit},
      {"command", fmt::format("dlroof profile --gpu -- {}", fmt::join(command, " "))}};
  WriteFile(output, roofline::ToJson(run).dump() + '\n');
  terminal::WriteTables(roofline::PlaceRun(run), text::TerminalColumns(), std::cout);
  std::cout << std::flush;
  std::cerr << "wrote " << output << '\n';
}

void AddProgramOptions(CLI::App& command, ProfileFlags& flags) {
  auto& program = flags.program;
  command.add_option("--machine", program.machine,
                     "whose roofs its calls stand on (default: this machine's, cached or measured "
                     "before the program starts); none, or " +
                         machine_file::MachineChoices());
  command.add_option("-o,--output", program.output, "the run file to write (profile.json)");
  command.add_option("--log", program.log, "keep oneDNN's lines in this file");
  command
      .add_option("--threads", program.threads,
                  "the program's library uses so many (default: as its log says)")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--steps", program.steps,
                  "divide the program into so many equal steps (default: they are found)")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--verify-overhead", program.overhead_turns,
                  "run it so many times more without oneDNN's lines, interleaved, and compare")
      ->check(CLI::PositiveNumber);
  command.add_option("--read", program.read,
                     "compare not its wall time but the number of this regular expression's group "
                     "in its output: 'step: ([0-9.]+) ms'");
  AddReplayOptions(command, flags.replay, flags.bench);
  command.add_option("COMMAND", program.command, "the program and its arguments, after --")
      ->required();
}

void AddGpuOptions(CLI::App& command, ProfileFlags& flags) {
  command.add_flag("--gpu", flags.gpu,
                   "profile what runs on the GPU, with Nsight Compute; roofs only of --machine");
  command.add_option("--chip", flags.chip, "the GPU's chip: GH100, ... (default: found out)");
  command.add_option("--kernel", flags.choice.kernels,
                     "only kernels whose name has this regular expression");
  command.add_option("--skip", flags.choice.skip, "leave out so many launches first")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--launches", flags.choice.launches, "profile so many launches at most")
      ->check(CLI::PositiveNumber);
  command.add_option("--ncu", flags.ncu, "Nsight Compute's program (default: found)");
}

void AddProfileCommand(CLI::App& program, int& exit_code) {
  auto flags = std::make_shared<ProfileFlags>();
  auto* command = program.add_subcommand(
      "profile",
      "run any program with oneDNN inside (PyTorch, TensorFlow, your own) and place its primitives "
      "on the roofs; its output and exit code stay as they are, the report goes to standard error. "
      "With --gpu: its GPU kernels, counted by Nsight Compute (ncu)");
  AddProgramOptions(*command, *flags);
  AddGpuOptions(*command, *flags);
  command->callback([flags, &exit_code] {
    if (flags->replay > 0)
      flags->program.complete =
          [request = profile::ReplayRequest{flags->replay, flags->bench, "profile"}](
              record::RunFile& run, std::ostream& messages) {
            profile::Replay(request, run, messages);
          };
    if (flags->gpu) return ProfileGpu(*flags);
    for (const bool of_gpu : {!flags->chip.empty(), !flags->ncu.empty(),
                              flags->choice.kernels != cupti::NcuChoice().kernels,
                              flags->choice.skip != cupti::NcuChoice().skip,
                              flags->choice.launches != cupti::NcuChoice().launches})
      if (of_gpu)
        throw BadInput(
            "profile: --chip, --kernel, --skip, --launches and --ncu: expected --gpu, which "
            "profiles "
            "what runs on the GPU");
    exit_code = profile::ProfileProgram(flags->program, std::cerr);
  });
}

[[maybe_unused]] const bool profile_registered = RegisterCommand("profile", AddProfileCommand);
}  // namespace

}  // namespace dlroof::commands
