// dlroof import: shows measurements of other tools under roofs.
#include "reporters/imports/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <memory>

#include "baselines/programs/program_report.h"
#include "bench/commands/commands.h"
#include "bench/profile/profile.h"
#include "ceilings/machine_file/machine_cache.h"
#include "ceilings/machine_file/specified_machine.h"
#include "counters/base/error.h"
#include "counters/base/json_text.h"
#include "counters/base/keys.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::commands {
namespace {

struct ImportFlags {
  std::string file;
  std::optional<std::string> machine, output, format, set, provenance;
  std::optional<int> steps;
  std::optional<std::string> pipe;
  std::optional<double> flops_per_item;
};

constexpr std::string_view kGoogleBenchmark = "gbench";
constexpr std::string_view kProgram = "onednn";  // format name of a program's oneDNN log

std::vector<imports::ImportFormat> AllFormats() {
  std::vector<imports::ImportFormat> formats(imports::ImportFormats().begin(),
                                             imports::ImportFormats().end());
  formats.push_back({"benchdnn", "output of oneDNN's benchdnn --mode=P",
                     profile::LooksLikeBenchdnnOutput, profile::ImportBenchdnn});
  return formats;
}

std::vector<std::string> FormatNames() {
  auto names = VectorOf<std::string>(AllFormats(), &imports::ImportFormat::name);
  names.emplace_back(kProgram);
  return names;
}

imports::ImportFormat FormatOf(const ImportFlags& flags, const std::string& text) {
  for (const auto& format : AllFormats())
    if (flags.format ? format.name == *flags.format : format.recognise(text)) return format;
  if (const auto other = imports::ExportOfOtherTool(flags.file, text); other && !flags.format)
    throw BadInput("{}: {}", flags.file, other->text);
  throw BadInput(
      "{}:1: unknown format; expected one of {} (--format chooses one; csv has columns 'name' and "
      "'seconds', FLOPs as flops_<pipe> and bytes as bytes_<level>)",
      flags.file, fmt::join(FormatNames(), ", "));
}

nlohmann::json Origin(const ImportFlags& flags, std::string_view format) {
  std::string command = "dlroof import " + flags.file;
  if (flags.machine) command += " --machine " + *flags.machine;
  if (flags.set) command += " --set " + *flags.set;
  if (flags.provenance) command += " --provenance " + *flags.provenance;
  if (flags.steps) command += fmt::format(" --steps {}", *flags.steps);
  if (flags.pipe) command += " --pipe " + *flags.pipe;
  if (flags.flops_per_item) command += fmt::format(" --flops-per-item {}", *flags.flops_per_item);
  return {{"command", command}, {"imported", {{"file", flags.file}, {"format", format}}}};
}

std::optional<machine::Machine> MachineOf(const ImportFlags& flags) {
  if (!flags.machine) return std::nullopt;
  return machine_file::ReadMachineFile(*flags.machine);
}

// Prints a report of a program's oneDNN log, and writes the run file if -o is set.
int ImportProgram(const ImportFlags& flags, const std::string& text) {
  if (flags.set || flags.provenance)
    throw BadInput("import: --set and --provenance do not apply to a program's log");
  const auto machine = MachineOf(flags);
  record::RunFile run =
      profile::ProgramRun(text, flags.file, {.steps = flags.steps}, machine, std::cerr);
  run.context["dlroof"].update(Origin(flags, kProgram));
  const auto placed = roofline::PlaceRun(std::move(run));
  programs::WriteProgram(placed, text::TerminalColumns(), std::cout);
  std::cout << std::flush;
  if (flags.output) WriteOutput(flags.output, JsonText(roofline::ToJson(placed)) + '\n');
  return 0;
}

void PlaceRates(const ImportFlags& flags, const std::string& text, std::string_view format,
                std::vector<record::Record>& records) {
  if (!flags.pipe && !flags.flops_per_item) return;
  if (format != kGoogleBenchmark)
    throw BadInput("import: --pipe and --flops-per-item apply only to Google Benchmark's files");
  if (flags.pipe && !IsPipeKey(*flags.pipe))
    throw BadInput("--pipe {}: expected a pipe such as fp64.vector or bf16.matrix", *flags.pipe);
  if (flags.pipe) imports::SetPipeOfRates(*flags.pipe, records);
  if (!flags.flops_per_item) return;
  if (!flags.pipe)
    throw BadInput("--flops-per-item: expected --pipe too, such as --pipe fp64.vector");
  if (imports::AddFlopsOfItems(text, flags.file, {*flags.flops_per_item, *flags.pipe}, records) ==
      0)
    throw BadInput("{}: --flops-per-item: no benchmark has items_per_second", flags.file);
}

int Import(const ImportFlags& flags) {
  if (flags.output) RefuseInputs({*flags.output}, {flags.file});
  const auto text = text::ReadUnpacked(flags.file, "measurements");
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    throw BadInput(flags.file + ": empty file, expected measurements");
  if (const auto other = imports::ExportOfOtherTool(flags.file, ""); other && !flags.format)
    throw BadInput("{}: {}", flags.file, other->text);
  if (flags.format ? *flags.format == kProgram
                   : profile::LooksLikeOneDnnLog(text) && !profile::LooksLikeBenchdnnOutput(text))
    return ImportProgram(flags, text);
  if (!flags.output) throw BadInput("import: expected -o FILE");
  if (flags.steps) throw BadInput("import: --steps applies only to a program's log");
  const auto format = FormatOf(flags, text);
  const auto machine = MachineOf(flags);
  imports::Imported imported = format.read(text, flags.file);
  PlaceRates(flags, text, format.name, imported.records);
  imports::LeaveOutImpossible(flags.file, imported);
  for (const auto& remark : imported.remarks)
    std::cerr << "dlroof: " << text::Printable(remark) << '\n';
  if (imported.machine && imported.records.empty()) {
    WriteOutput(flags.output, JsonText(machine::ToJson(*imported.machine), 1) + '\n');
    return 0;
  }
  const imports::ImportOptions options = {flags.set.value_or(""),
                                          ProvenanceFromKey(flags.provenance.value_or(""))};
  record::RunFile run =
      imports::ImportedRun(std::move(imported.records), machine, options, std::cerr);
  run.context["dlroof"].update(Origin(flags, format.name));
  WriteOutput(flags.output, JsonText(roofline::ToJson(run)) + '\n');
  return 0;
}

Command MakeImport() {
  auto flags = std::make_shared<ImportFlags>();
  return {
      .name = "import",
      .about =
          "convert the measurements of another tool to a run file (of ERT to a machine file), or "
          "show the primitives and steps of a program from its oneDNN log "
          "(ONEDNN_VERBOSE=profile_exec)",
      .options =
          {Ruled(
               "FILE", {.type = kFile, .required = true}, &flags->file,
               "the other tool's file, which may be packed by gzip, xz or zstd; -: standard input"),
           Ruled("--machine", {.type = kMachine}, &flags->machine,
                 "machine with the roofs: " + machine_file::MachineChoices()),
           Ruled("-o,--output", {.type = kFile}, &flags->output,
                 "run file to write (optional for a program's log)"),
           Ruled("--steps", {.limits = AboveZero{}}, &flags->steps,
                 "for a program's log: number of equal steps (default: detected or marked)"),
           Ruled("--format", {.choices = FormatNames()}, &flags->format,
                 fmt::format("{} (default: detected)", fmt::join(FormatNames(), ", "))),
           {"--set", &flags->set,
            "prefix every benchmark name with this name and a slash; reports sum up the zero-FLOP "
            "kernels with the same prefix in one row"},
           Ruled("--provenance", {.choices = {"measured", "simulated", "modelled"}},
                 &flags->provenance,
                 "source of FLOPs and bytes: measured, simulated or modelled (default: "
                 "depends on the format)"),
           {"--pipe", &flags->pipe,
            "for Google Benchmark: the pipe of FLOP rates whose names do not specify one, such as "
            "fp64.vector (default: by the benchmark's name, else fp32.vector)"},
           Ruled("--flops-per-item", {.limits = AboveZero{}}, &flags->flops_per_item,
                 "for Google Benchmark: FLOPs of one item of items_per_second, with --pipe")},
      .run = [flags] { return Import(*flags); }};
}

[[maybe_unused]] const bool import_registered = RegisterCommand(MakeImport);

}  // namespace
}  // namespace dlroof::commands
