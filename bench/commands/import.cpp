// dlroof import: anyone's measurements on our roofs.
#include "reporters/imports/import.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "baselines/programs/program_report.h"
#include "bench/commands/commands.h"
#include "bench/profile/profile_program.h"
#include "bench/profile/replay.h"
#include "bench/suites/benchdnn_suite.h"
#include "ceilings/machine_file/machine_cache.h"
#include "ceilings/machine_file/specified_machine.h"
#include "counters/base/error.h"
#include "counters/base/version.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/gzip.h"
#include "reporters/text/text.h"

namespace dlroof::commands {
namespace {

struct ImportFlags {
  std::string file, machine, output, format, set;
  std::string provenance;
  std::string balance = "pipe";
  std::optional<int> steps;
  int replay = 0;  // [1] primitives
  std::string bench;
};

constexpr std::string_view kProgram = "onednn";  // a program's log: a run file of its own kind

std::vector<imports::ImportFormat> AllFormats() {
  std::vector<imports::ImportFormat> formats(imports::ImportFormats().begin(),
                                             imports::ImportFormats().end());
  formats.push_back({"benchdnn", "output of oneDNN's benchdnn --mode=P",
                     suites::LooksLikeBenchdnnOutput, suites::ImportBenchdnn});
  return formats;
}

std::string FormatNames() {
  std::string names;
  for (const auto& format : AllFormats()) names += fmt::format("{}, ", format.name);
  return names + std::string(kProgram);
}

std::string ReadText(const std::string& path) {
  auto text = text::ReadUnpacked(path, "measurements");
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    throw BadInput(path + ": empty file, expected measurements");
  return text;
}

imports::ImportFormat FormatOf(const ImportFlags& flags, const std::string& text) {
  for (const auto& format : AllFormats())
    if (flags.format.empty() ? format.recognise(text) : format.name == flags.format) return format;
  if (flags.format.empty())
    throw BadInput("{}:1: of no format that is known; expected one of {} (--format says which)",
                   flags.file, FormatNames());
  throw BadInput("--format {}: no such format; there are {}", flags.format, FormatNames());
}

nlohmann::json Origin(const ImportFlags& flags, std::string_view format) {
  std::string command = "dlroof import " + flags.file;
  if (!flags.machine.empty()) command += " --machine " + flags.machine;
  if (!flags.set.empty()) command += " --set " + flags.set;
  if (!flags.provenance.empty()) command += " --provenance " + flags.provenance;
  if (flags.balance != "pipe") command += " --balance " + flags.balance;
  if (flags.steps) command += fmt::format(" --steps {}", *flags.steps);
  if (flags.replay > 0) command += fmt::format(" --replay {}", flags.replay);
  return {{"schema", record::kSchema},
          {"version", kVersion},
          {"commit", kCommit},
          {"command", command},
          {"imported", {{"file", flags.file}, {"format", format}}}};
}

// A program's log is shown, and written where a file is named.
void ImportProgram(const ImportFlags& flags) {
  if (!flags.set.empty() || !flags.provenance.empty())
    throw BadInput("import: --set and --provenance are not for a program's log");
  std::optional<machine::Machine> machine;
  if (!flags.machine.empty()) machine = machine_file::ReadMachineFile(flags.machine);
  record::RunFile run = profile::ProgramRun(flags.file, {.steps = flags.steps}, machine, std::cerr);
  run.context["dlroof"].update(Origin(flags, kProgram));
  if (flags.replay > 0) profile::Replay({flags.replay, flags.bench, "import"}, run, std::cerr);
  const auto placed =
      roofline::PlaceRun(std::move(run), {.tensor_balance = flags.balance == "tensor"});
  programs::WriteProgram(placed, text::TerminalColumns(), std::cout);
  std::cout << std::flush;
  if (flags.output.empty()) return;
  WriteOutput(flags.output, roofline::ToJson(placed).dump() + '\n');
}

void Import(const ImportFlags& flags) {
  const auto text = ReadText(flags.file);
  if (flags.format.empty() ? profile::LooksLikeOneDnnLog(text) : flags.format == kProgram)
    return ImportProgram(flags);
  if (flags.output.empty()) throw BadInput("import: expected -o FILE");
  if (flags.steps) throw BadInput("import: --steps is for a program's log");
  if (flags.replay > 0) throw BadInput("import: --replay is for a program's log");
  const auto format = FormatOf(flags, text);
  std::optional<machine::Machine> machine;
  if (!flags.machine.empty()) machine = machine_file::ReadMachineFile(flags.machine);
  imports::Imported imported = format.read(text, flags.file);
  for (const auto& remark : imported.remarks) std::cerr << "dlroof: " << remark << '\n';
  if (imported.machine && imported.records.empty()) {
    WriteOutput(flags.output, machine::ToJson(*imported.machine).dump(1) + '\n');
    return;
  }
  const imports::ImportOptions options = {flags.set, ProvenanceFromKey(flags.provenance)};
  record::RunFile run =
      imports::ImportedRun(std::move(imported.records), machine, options, std::cerr);
  run.context["dlroof"] = Origin(flags, format.name);
  WriteOutput(flags.output,
              roofline::ToJson(run, {.tensor_balance = flags.balance == "tensor"}).dump() + '\n');
}

void AddImportCommand(CLI::App& program, int& /*exit_code*/) {
  auto flags = std::make_shared<ImportFlags>();
  auto* command = program.add_subcommand(
      "import",
      "measurements of another tool as a run file (or a machine file, of ERT); a program's log "
      "of oneDNN (ONEDNN_VERBOSE=profile_exec): its primitives on the roofs, its steps");
  command->add_option("FILE", flags->file, "the other tool's file; it may be packed by gzip")
      ->required();
  command->add_option("--machine", flags->machine,
                      "whose roofs they stand on: " + machine_file::MachineChoices());
  command->add_option("-o,--output", flags->output,
                      "the run file to write (a program's log may do without)");
  command
      ->add_option("--steps", flags->steps,
                   "a program's log: how many equal steps it has (default: found, or marked)")
      ->check(CLI::PositiveNumber);
  AddReplayOptions(*command, flags->replay, flags->bench);
  command->add_option("--format", flags->format,
                      FormatNames() + " (default: the first that the file looks like)");
  command->add_option(
      "--set", flags->set,
      "put this and a slash before every name: kernels of one run, summed up as one "
      "row of the report's zero-FLOP kernels");
  command
      ->add_option("--provenance", flags->provenance,
                   "how FLOPs and bytes came about: measured, simulated or modelled (default: what "
                   "the format says)")
      ->check(CLI::IsMember({"measured", "simulated", "modelled"}));
  AddBalanceOption(*command, flags->balance);
  command->callback([flags] { Import(*flags); });
}

[[maybe_unused]] const bool import_registered = RegisterCommand("import", AddImportCommand);
}  // namespace

}  // namespace dlroof::commands
