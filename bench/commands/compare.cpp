// dlroof compare: decides for each benchmark of two run files whether it became slower or faster.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>

#include "baselines/compare/write_comparison.h"
#include "baselines/history/builds.h"
#include "baselines/programs/program_report.h"
#include "bench/commands/commands.h"
#include "bench/supervise/supervise.h"
#include "bench/supervise/supervised_program.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "counters/base/process.h"
#include "counters/base/program.h"

namespace dlroof::commands {
namespace {

// Value of --again that requests a new measurement; other values are paths of run files.
constexpr std::string_view kNow = "now";

struct CompareFlags {
  std::vector<std::string> files;
  std::optional<std::string> baseline;               // "auto", a run file, or a folder of run files
  std::optional<std::string> database;               // history file with earlier runs
  std::optional<std::string> min_effect, run_noise;  // "5%" or "0.05"
  std::vector<std::string> controls;                 // NEW's benchmarks that cannot have changed
  std::optional<std::string> map, rerun;
  std::optional<std::string> program;  // NEW's program, with --again now
  std::vector<std::string> arguments;  // of the program, after --
  double budget_seconds = 600;         // [s] limit for --again now
  std::string format = "table";
  bool across_machines = false, all_rows = false;
};

compare::CompareOptions OptionsFrom(const CompareFlags& flags) {
  compare::CompareOptions options;
  options.min_effect = ParseShare("--min-effect", flags.min_effect);
  options.run_noise = ParseShare("--run-noise", flags.run_noise);
  options.across_machines = flags.across_machines;
  options.controls = {flags.controls.begin(), flags.controls.end()};
  if (flags.map) options.names = ReadNameMap(*flags.map);
  return options;
}

struct Inputs {
  compare::NamedRun base, contender;
  std::optional<compare::NamedRun> rerun;  // second measurement of NEW's benchmarks
  std::vector<compare::NamedRun> stored;   // replace `base` if not empty; oldest first
  std::vector<compare::NamedRun> earlier;  // runs of the history before `base`, oldest first
};

compare::NamedRun ReadNamed(const std::string& path, std::ostream& warnings) {
  return {path, record::ReadRunFile(path, warnings)};
}

// Returns the folder of run files that --baseline names, or nullopt if it names a file. "auto" is
// ./baselines/stored if it exists, otherwise the folder installed with dlroof, if any.
std::optional<std::filesystem::path> BaselinesFolder(const std::optional<std::string>& baseline) {
  std::error_code error;
  if (baseline && std::filesystem::is_directory(*baseline, error)) return *baseline;
  if (baseline != "auto") return std::nullopt;
  const std::filesystem::path own = "baselines/stored";
  std::error_code none;
  const auto data = DataFolder();
  return std::filesystem::is_directory(own, none) || !data ? own : *data / "baselines";
}

// Reads BASE or the stored baselines, and NEW.
Inputs ReadInputs(const CompareFlags& flags, const compare::NameMap& names) {
  Inputs inputs;
  if (const auto folder = BaselinesFolder(flags.baseline)) {
    inputs.contender = ReadNamed(flags.files.back(), std::cerr);
    inputs.stored = history::FindBaselines(*folder, inputs.contender, names, std::cerr);
    return inputs;
  }
  inputs.base = ReadNamed(flags.baseline.value_or(flags.files.front()), std::cerr);
  inputs.contender = ReadNamed(flags.files.back(), std::cerr);
  return inputs;
}

supervise::Settled CompareAndSettle(const CompareFlags& flags, const Inputs& inputs,
                                    const supervise::CompareRun& compare_new,
                                    std::optional<double> min_effect) {
  const history::Builds builds(history::FolderBeside(flags.database.value_or("perf.sqlite")));
  const auto stored = inputs.stored.empty() ? builds.Find(history::CommitOf(inputs.base.file))
                                            : history::NewestProgram(builds, inputs.stored);
  supervise::Settings settings{.program = supervise::BenchProgram(flags.program),
                               .arguments = flags.arguments,
                               .budget_seconds = flags.budget_seconds,
                               .min_effect = min_effect};
  if (stored) settings.stored_program = stored->run;
  StopOnInterrupt();
  auto settled = supervise::Settle(inputs.contender, compare_new, settings, std::cerr);
  std::cerr << fmt::format(
      "measured again: {} benchmarks, {} of them interleaved with {}; "
      "{} could still be slower\n",
      settled.again.size(), settled.interleaved.size(),
      stored ? "the program of " + stored->commit : "no stored program", settled.unclear.size());
  return settled;
}

void Write(const compare::CompareResult& result, const compare::ComparedFiles& files,
           const std::string& format) {
  std::ostringstream out;
  for (const auto& writer : compare::ComparisonWriters())
    if (writer.format == format) writer.write(result, files, out);
  WriteOutput(std::nullopt, out.str());
}

int RunCompare(const CompareFlags& given) {
  CompareFlags flags = given;
  const bool now = flags.rerun == kNow;
  if (!now) std::ranges::move(flags.arguments, std::back_inserter(flags.files));
  if (!now && flags.program) throw BadInput("--program: expected --again now");
  const std::size_t wanted = flags.baseline ? 1 : 2;
  if (flags.files.size() != wanted)
    throw BadInput(flags.baseline
                       ? "compare: expected one run file, NEW, with --baseline"
                       : "compare: expected two run files, BASE and NEW (or --baseline auto NEW)");
  if (flags.database && (BaselinesFolder(flags.baseline) || flags.across_machines))
    throw BadInput(
        "--db: expected BASE as a file, of the machine of NEW, not --baseline auto or "
        "--across-machines");
  if (flags.rerun && flags.across_machines)
    throw BadInput("--again: expected runs of one machine, not --across-machines");
  auto options = OptionsFrom(flags);
  Inputs inputs = ReadInputs(flags, options.names);
  for (const auto& control : options.controls)
    if (std::ranges::count(inputs.contender.file.records, control, &record::Record::name) == 0)
      throw BadInput("--control: expected benchmarks of {}, got '{}'", inputs.contender.where,
                     control);
  if (flags.rerun && !now) {
    inputs.rerun = ReadNamed(*flags.rerun, std::cerr);
    supervise::CheckRerun(inputs.contender, *inputs.rerun);
  }
  if (flags.database) {
    const history::History history(*flags.database, history::Access::kRead);
    inputs.earlier = history::RunsBefore(history, inputs.base);
    options.earlier = inputs.earlier;
  }
  const auto compare_new = [&](const compare::NamedRun& contender) {
    return inputs.stored.empty() ? compare::Compare(inputs.base, contender, options)
                                 : compare::CompareWithStored(inputs.stored, contender, options);
  };
  std::optional<supervise::Settled> settled;
  if (now) settled = CompareAndSettle(flags, inputs, compare_new, options.min_effect);
  auto result = settled ? settled->result : compare_new(inputs.contender);
  if (inputs.rerun) supervise::Confirm(*inputs.rerun, result);
  result.of_programs =
      programs::IsProgram(inputs.base.file) && programs::IsProgram(inputs.contender.file);
  if (const auto step = programs::StepChange(inputs.base.file, inputs.contender.file);
      !step.empty() && flags.format == "table")
    std::cout << step << '\n';
  Write(result, {result.base, inputs.contender.where, flags.all_rows}, flags.format);
  if (const auto few = compare::FewSharedText(result); !few.empty()) std::cerr << few << '\n';
  return result.exit_code;
}

Command MakeCompare() {
  auto flags = std::make_shared<CompareFlags>();
  const auto formats =
      VectorOf<std::string>(compare::ComparisonWriters(), &compare::ComparisonWriter::format);
  const auto formats_text = fmt::format("{} (default table)", fmt::join(formats, ", "));
  return {
      .name = "compare",
      .about =
          "give a verdict on each benchmark of two run files; exit code 0: none was found slower, "
          "1: one is, 2: bad input, 3: the runs cannot tell",
      .options = {Ruled("FILES", {.type = kFile, .required = true}, &flags->files,
                        "BASE and NEW: run files, or Google Benchmark JSON"),
                  Ruled("ARGUMENTS", {.type = runner::kFlag}, &flags->arguments,
                        "after --, with --again now: arguments for NEW's program"),
                  Ruled("--baseline", {.type = kFile}, &flags->baseline,
                        "BASE: a file; or a folder with stored runs: each benchmark is compared "
                        "with its newest result there from NEW's machine; or auto: the folder "
                        "baselines/stored if it exists, otherwise the one installed with dlroof"),
                  Ruled("--db", {.type = kFile}, &flags->database,
                        "history with earlier runs of BASE's machine, for estimating the noise "
                        "between runs and BASE's level (dlroof history add)"),
                  Ruled("--again", {.type = kFile}, &flags->rerun,
                        "run file of a second run of all or some of NEW's benchmarks: only changes "
                        "that it confirms count as slower or faster; or now: measure unclear "
                        "benchmarks again, interleaved with BASE's program if that is stored"),
                  Ruled("--program", {.type = kFile}, &flags->program,
                        "with --again now: NEW's program (default: the dlroof_bench beside this "
                        "program); its arguments follow --"),
                  Ruled("--budget", {.limits = AtLeastZero{}}, &flags->budget_seconds,
                        "[s] with --again now: limit for measuring again (default 600)"),
                  {"--min-effect", &flags->min_effect,
                   "ignore smaller changes: 5% (default: what the runs can resolve, 2 to 8 %)"},
                  {"--run-noise", &flags->run_noise,
                   "standard deviation between runs of the same program; 0 for interleaved runs "
                   "(default: estimated from the files)"},
                  Ruled("--control", {.one_each = true}, &flags->controls,
                        "a benchmark that cannot have changed; may be repeated. The common change "
                        "of all controls is due to the machine and is removed from all ratios"),
                  {"--across-machines", &flags->across_machines,
                   "compare fractions of the roof on different machines"},
                  Ruled("--map", {.type = kFile}, &flags->map,
                        "file with a line 'base-name new-name' for each renamed benchmark"),
                  {"--all", &flags->all_rows,
                   "show all benchmarks in the table of a large comparison, also unchanged ones"},
                  Ruled("--format", {.choices = formats}, &flags->format, formats_text)},
      .run = [flags] { return RunCompare(*flags); }};
}

[[maybe_unused]] const bool compare_registered = RegisterCommand(MakeCompare);

}  // namespace
}  // namespace dlroof::commands
