// dlroof tune: the best setting of benchmarks, from the library's default.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <iostream>
#include <memory>

#include "bench/commands/commands.h"
#include "bench/commands/share.h"
#include "bench/suites/suite_selection.h"
#include "bench/tune/tune_benchmarks.h"
#include "counters/base/error.h"
#include "counters/base/interrupt.h"

namespace dlroof {
namespace {

struct TuneFlags {
  std::vector<std::string> what, suites, environment;
  bool verify = false;
  std::string min_effect;  // "2%" or "0.02"
  TuneRequest request;
};

// "NAME=a,b" -> NAME and its values.
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

TuneRequest RequestFrom(const TuneFlags& flags) {
  TuneRequest request = flags.request;
  request.names = flags.what;
  request.min_effect = ParseShare("--min-effect", flags.min_effect).value_or(request.min_effect);
  for (const auto& text : flags.environment)
    request.space.environment.push_back(VariableFrom(text));
  if (flags.suites.empty()) return request;
  auto suites = SelectSuites(flags.suites, {}, "--suite");
  // A file alone is added to the suites of a run that names none: those were not asked for.
  const auto asked = fmt::format(",{},", fmt::join(flags.suites, ","));
  std::erase_if(suites, [&](const Suite& suite) {
    return asked.find("," + suite.name + ",") == std::string::npos;
  });
  for (const auto& workload : WorkloadsOf(suites))
    if (workload.name.device == "cpu") request.names.push_back(ToText(workload.name));
  return request;
}

int Run(const TuneFlags& flags) {
  const bool file = flags.what.size() == 1 && flags.suites.empty() &&
                    std::filesystem::is_regular_file(flags.what.front());
  if (flags.verify && !file)
    throw BadInput("tune: --verify: expected one file that dlroof tune wrote");
  if (file && !flags.verify) {
    ShowTunings(flags.what.front(), std::cout);
    return 0;
  }
  StopOnInterrupt();
  if (file) return VerifyTunings(flags.what.front(), flags.request, std::cerr, std::cout);
  const auto request = RequestFrom(flags);
  if (request.names.empty())
    throw BadInput("tune: expected names of benchmarks, --suite, or a file of dlroof tune");
  return TuneBenchmarks(request, std::cerr, std::cout);
}

void AddSpaceOptions(CLI::App& command, TuneFlags& flags) {
  auto& space = flags.request.space;
  command.add_flag("--allow-precision", space.precision,
                   "also try narrower types and fpmath modes: results differ");
  command.add_flag("--batch", space.batch,
                   "also try other batch sizes, by the time of one of the batch");
  command.add_option("--env", flags.environment,
                     "VARIABLE=value,value: also try these (LD_PRELOAD of an allocator, "
                     "ONEDNN_PRIMITIVE_CACHE_CAPACITY)");
  command.add_flag("--self", flags.request.compare_with_itself,
                   "tune variables that nothing reads: whatever wins would be false");
}

void AddRunOptions(CLI::App& command, TuneFlags& flags) {
  auto& request = flags.request;
  command.add_option("-o,--output", request.output,
                     "file of the tunings, written after each block (tune.json)");
  command.add_flag("--resume", request.resume,
                   "go on after an interrupt or a kill, or with a larger budget");
  command.add_option("--budget", request.budget_seconds, "[s] for each benchmark (120)")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--timeout", request.timeout_seconds,
                  "[s] for each answer of a process, which else hangs (60)")
      ->check(CLI::PositiveNumber);
  command.add_option("--min-effect", flags.min_effect, "smaller gains do not matter (2%)");
  command.add_option("--seed", request.seed, "of the order of turns (1)");
  command.add_option("--machine", request.machine,
                     "machine file of the roofs, whose ledger says what to try first (default: "
                     "cached, or measured now); none: a fixed order");
  command.add_option("--bench", request.bench, "the program (dlroof_bench beside this)");
}

void AddTuneCommand(CLI::App& program, int& exit_code) {
  auto flags = std::make_shared<TuneFlags>();
  auto* command = program.add_subcommand(
      "tune",
      "the best setting of a benchmark on the CPU: threads, pinning, waiting, layout, algorithm, "
      "instruction set, memory; only gains that fresh processes confirm are reported");
  command->add_option("NAME", flags->what, "benchmarks, or a file of tunings, which is shown");
  command->add_option("--suite", flags->suites, "all benchmarks of a suite, as --dlroof_suite");
  command->add_flag("--verify", flags->verify,
                    "measure default and best of a file of tunings by turns once more");
  AddSpaceOptions(*command, *flags);
  AddRunOptions(*command, *flags);
  command->callback([flags, &exit_code] { exit_code = Run(*flags); });
}

[[maybe_unused]] const bool tune_registered = RegisterCommand("tune", AddTuneCommand);

}  // namespace
}  // namespace dlroof
