// dlroof tune: finds settings of benchmarks, or of any program, that are faster than the default.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <iostream>
#include <memory>

#include "bench/command_line/description.h"
#include "bench/commands/commands.h"
#include "bench/suites/suite_selection.h"
#include "bench/tune/knob_file.h"
#include "bench/tune/tune_command.h"
#include "counters/base/error.h"
#include "counters/base/process.h"

namespace dlroof::commands {
namespace {

struct TuneFlags {
  std::vector<std::string> what, suites, environment;
  bool verify = false;
  std::optional<std::string> min_effect;  // "2%" or "0.02"
  std::optional<double> budget, timeout;  // [s] different defaults for benchmarks and programs
  tune::TuneRequest request;
  // Only for programs:
  std::vector<std::string> knobs;
  std::optional<std::string> read, exported;
  std::string objective = "seconds";
};

using NamedValues = std::vector<std::pair<std::string, std::vector<std::string>>>;

// Parses "NAME=a,b" into NAME and its values.
std::pair<std::string, std::vector<std::string>> VariableFrom(const std::string& text) {
  const auto equals = text.find('=');
  const auto name = text.substr(0, equals);
  const bool variable = !name.empty() && std::isupper(static_cast<unsigned char>(name.front()));
  if (equals == std::string::npos || equals + 1 == text.size() || !variable)
    throw BadInput("--env={}: expected VARIABLE=value,value", text);
  std::vector<std::string> values;
  std::istringstream in(text.substr(equals + 1));
  for (std::string value; std::getline(in, value, ',');) values.push_back(value);
  return {name, values};
}

NamedValues VariablesFrom(const std::vector<std::string>& texts) {
  NamedValues variables;
  for (const auto& text : texts) variables.push_back(VariableFrom(text));
  return variables;
}

tune::TuneCommandRequest CommandFrom(const TuneFlags& flags) {
  if (flags.what.size() > WordsAfterDashes().size() || !flags.suites.empty())
    throw BadInput("tune: expected names of benchmarks or a program after --, not both");
  if (flags.request.space.batch || flags.request.bench || flags.request.machine)
    throw BadInput("tune: --batch, --bench and --machine apply to benchmarks, not to a program");
  tune::TuneCommandRequest request{
      .trial = {flags.what, {flags.read, flags.objective == "per-second"}},
      .environment = VariablesFrom(flags.environment),
      .may_change_results = flags.request.space.precision,
      .compare_with_itself = flags.request.compare_with_itself,
      .output = flags.request.output,
      .exported = flags.exported,
      .resume = flags.request.resume,
      .seed = flags.request.seed};
  if (!flags.knobs.empty()) request.knobs = flags.knobs;
  request.trial.timeout_seconds = flags.timeout.value_or(request.trial.timeout_seconds);
  request.budget_seconds = flags.budget.value_or(request.budget_seconds);
  request.min_effect = ParseShare("--min-effect", flags.min_effect).value_or(request.min_effect);
  return request;
}

tune::TuneRequest RequestFrom(const TuneFlags& flags) {
  if (!flags.knobs.empty() || flags.read || flags.exported)
    throw BadInput("tune: --knobs, --read and --export apply only to a program after --");
  tune::TuneRequest request = flags.request;
  request.budget_seconds = flags.budget.value_or(request.budget_seconds);
  request.timeout_seconds = flags.timeout.value_or(request.timeout_seconds);
  request.names = flags.what;
  request.min_effect = ParseShare("--min-effect", flags.min_effect).value_or(request.min_effect);
  request.space.environment = VariablesFrom(flags.environment);
  if (flags.suites.empty()) return request;
  const auto suites = suites::SelectSuites(flags.suites, {}, "--suite");
  for (const auto& workload : suites::WorkloadsOf(suites))
    if (workload.name.device == "cpu") request.names.push_back(workload::ToText(workload.name));
  return request;
}

int RunOnFile(const TuneFlags& flags, const std::string& path) {
  const auto file = tuning::ReadTuningFile(path);
  if (!flags.verify) {
    if (tune::IsOfCommand(file))
      tune::ShowCommand(file, std::cout);
    else
      tune::ShowTunings(path, std::cout);
    return 0;
  }
  StopOnInterrupt();
  if (tune::IsOfCommand(file))
    return tune::VerifyCommand(path, file,
                               flags.timeout.value_or(tune::CommandTrialRequest().timeout_seconds),
                               std::cerr, std::cout);
  auto request = flags.request;
  request.timeout_seconds = flags.timeout.value_or(request.timeout_seconds);
  return tune::VerifyTunings(path, request, std::cerr, std::cout);
}

int Run(const TuneFlags& flags) {
  const bool command = !WordsAfterDashes().empty();
  const bool file = !command && flags.what.size() == 1 && flags.suites.empty() &&
                    std::filesystem::is_regular_file(flags.what.front());
  if (flags.verify && !file)
    throw BadInput("tune: --verify: expected one file that dlroof tune wrote");
  if (file) return RunOnFile(flags, flags.what.front());
  StopOnInterrupt();
  if (command) return tune::TuneCommand(CommandFrom(flags), std::cerr, std::cout);
  const auto request = RequestFrom(flags);
  if (request.names.empty())
    throw BadInput(
        "tune: expected benchmark names, --suite, a file that dlroof tune wrote, or a program "
        "after "
        "--");
  return tune::TuneBenchmarks(request, std::cerr, std::cout);
}

void AddSpaceOptions(CLI::App& command, TuneFlags& flags) {
  auto& space = flags.request.space;
  command.add_flag("--allow-precision", space.precision,
                   "also try narrower types and fpmath modes, which change the results");
  command.add_flag("--batch", space.batch,
                   "also try other batch sizes, compared by the time of one image or sequence");
  command.add_option("--env", flags.environment,
                     "VARIABLE=value,value: also try these values of an environment variable "
                     "(LD_PRELOAD of an allocator, ONEDNN_PRIMITIVE_CACHE_CAPACITY)");
  command.add_flag("--self", flags.request.compare_with_itself,
                   "A/A test: tune variables that no program reads; any gain would be false");
}

void AddRunOptions(CLI::App& command, TuneFlags& flags) {
  auto& request = flags.request;
  command
      .add_option("-o,--output", request.output,
                  "file to write the tunings to, after each block (default tune.json)")
      ->type_name(command_line::kFile);
  command.add_flag("--resume", request.resume,
                   "continue after an interrupt or a kill, or with a larger budget");
  command
      .add_option("--budget", flags.budget,
                  "[s] time for each benchmark (default 120) or for a program (default 900)")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--timeout", flags.timeout,
                  "[s] limit for each answer of a benchmark's process (default 60) or for a run "
                  "of a program (default 600)")
      ->check(CLI::PositiveNumber);
  command.add_option("--min-effect", flags.min_effect, "ignore smaller gains (default 2%)");
  command.add_option("--seed", request.seed, "seed of the order of turns (default 1)");
  command
      .add_option("--machine", request.machine,
                  "machine file with the roofs for the breakdown that decides what is tried "
                  "first (default: cached ceilings, or measured now); none: a fixed order")
      ->type_name(command_line::kMachine);
  AddBenchOption(command, request.bench);
}

void AddProgramOptions(CLI::App& command, TuneFlags& flags) {
  command
      .add_option("--knobs", flags.knobs,
                  "for a program: sets or files of variables and arguments to try: " +
                      tune::KnobSets() + " (default: openmp onednn allocator)")
      ->type_name(command_line::kKnobs);
  command.add_option("--read", flags.read,
                     "for a program: tune the number in its output that the group of this regular "
                     "expression matches, the median of several: 'images/s: ([0-9.]+)' (default: "
                     "wall time)");
  command
      .add_option("--objective", flags.objective,
                  "meaning of --read's number: seconds (less is better) or per-second (more is "
                  "better)")
      ->check(CLI::IsMember({"seconds", "per-second"}));
  command
      .add_option("--export", flags.exported,
                  "for a program: write the best setting as shell export lines to this file")
      ->type_name(command_line::kFile);
}

void AddTuneCommand(CLI::App& program, int& exit_code) {
  auto flags = std::make_shared<TuneFlags>();
  auto* command = program.add_subcommand(
      "tune",
      "find the best setting of benchmarks or of any program (tune -- CMD): on a CPU threads, "
      "pinning, waiting, layout, algorithm, instruction set, memory; on a GPU engine, layout, "
      "padding, CUDA graph, by the device's time; reports only gains that new processes confirm");
  command
      ->add_option("NAME", flags->what,
                   "names of benchmarks; or a file of tunings to show; or -- and a program with "
                   "its arguments")
      ->type_name(command_line::kBenchmark);
  command
      ->add_option("--suite", flags->suites,
                   "tune all benchmarks of a suite (see --dlroof_suite of dlroof_bench)")
      ->type_name(command_line::kSuite);
  command->add_flag("--verify", flags->verify,
                    "measure the default and the best setting in a file of tunings again, "
                    "interleaved");
  AddSpaceOptions(*command, *flags);
  AddRunOptions(*command, *flags);
  AddProgramOptions(*command, *flags);
  command->callback([flags, &exit_code] { exit_code = Run(*flags); });
}

[[maybe_unused]] const bool tune_registered = RegisterCommand("tune", AddTuneCommand);

}  // namespace
}  // namespace dlroof::commands
