// dlroof tune: finds settings with which benchmarks run faster than with the default settings.
#include "bench/tune/tune.h"

#include <filesystem>
#include <iostream>
#include <memory>

#include "bench/commands/commands.h"
#include "bench/suites/suite.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "counters/base/process.h"

namespace dlroof::commands {
namespace {

struct TuneFlags {
  std::vector<std::string> what, suites, environment;
  std::string device = "cpu";
  bool verify = false;
  std::optional<std::string> min_effect;  // "2%" or "0.02"
  tune::TuneRequest request;
};

using NamedValues = std::pair<std::string, std::vector<std::string>>;

// Parses "NAME=a,b" into the name and its values.
NamedValues VariableFrom(const std::string& text) {
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

tune::TuneRequest RequestFrom(const TuneFlags& flags) {
  tune::TuneRequest request = flags.request;
  request.names = flags.what;
  request.min_effect = ParseShare("--min-effect", flags.min_effect).value_or(request.min_effect);
  request.space.environment = VectorOf<NamedValues>(flags.environment, VariableFrom);
  if (flags.suites.empty()) return request;
  const bool gpu = flags.device == "gpu";
  const auto suites =
      suites::OnDevices(suites::SelectSuites(flags.suites, {!gpu, gpu}, "--suite"), !gpu, gpu);
  for (const auto& workload : suites::WorkloadsOf(suites))
    if (workload.name.device == flags.device)
      request.names.push_back(workload::ToText(workload.name));
  return request;
}

int RunOnFile(const TuneFlags& flags, const std::string& path) {
  if (!flags.verify) {
    tune::ShowTunings(path, std::cout);
    return 0;
  }
  StopOnInterrupt();
  auto request = flags.request;
  request.space.environment = VectorOf<NamedValues>(flags.environment, VariableFrom);
  return tune::VerifyTunings(path, request, std::cerr, std::cout);
}

int Run(const TuneFlags& flags) {
  const bool file = flags.what.size() == 1 && flags.suites.empty() &&
                    std::filesystem::is_regular_file(InputPath(flags.what.front()));
  if (flags.verify && !file)
    throw BadInput("tune: --verify: expected one file that dlroof tune wrote");
  if (file) return RunOnFile(flags, flags.what.front());
  if (flags.device == "gpu" && flags.suites.empty())
    throw BadInput("tune: --device=gpu: expected --suite; a NAME has its device in it");
  StopOnInterrupt();
  const auto request = RequestFrom(flags);
  if (request.names.empty())
    throw BadInput("tune: expected benchmark names, --suite, or a file that dlroof tune wrote");
  return tune::TuneBenchmarks(request, std::cerr, std::cout);
}

Command MakeTune() {
  auto flags = std::make_shared<TuneFlags>();
  auto& request = flags->request;
  return {
      .name = "tune",
      .about =
          "find the best setting of benchmarks: on a CPU threads, pinning, waiting, layout, "
          "algorithm, instruction set, memory; on a GPU engine, layout, padding, persistent "
          "algorithm, by the kernels' time; reports only gains that new processes confirm",
      .options =
          {Ruled("NAME", {.type = runner::kBenchmark}, &flags->what,
                 "names of benchmarks; or a file of tunings to show"),
           Ruled("--suite", {.type = runner::kSuite}, &flags->suites,
                 "tune all benchmarks of a suite (see --dlroof_suite of dlroof_bench)"),
           Ruled("--device", {.choices = {"cpu", "gpu"}}, &flags->device,
                 "where to tune the problems of --suite: cpu (default) or gpu"),
           {"--verify", &flags->verify,
            "measure the default and the best setting in a file of tunings again, interleaved"},
           {"--allow-precision", &request.space.precision,
            "also try narrower types and fpmath modes, which change the results"},
           {"--env", &flags->environment,
            "VARIABLE=value,value: also try these values of an environment variable (LD_PRELOAD of "
            "an allocator, ONEDNN_PRIMITIVE_CACHE_CAPACITY)"},
           {"--self", &request.compare_with_itself,
            "A/A test: tune variables that no program reads; any gain would be false"},
           Ruled("-o,--output", {.type = kFile}, &request.output,
                 "file to write the tunings to, after each block (default tune.json)"),
           {"--resume", &request.resume,
            "continue after an interrupt or a kill, or with a larger budget"},
           Ruled("--budget", {.limits = AboveZero{}}, &request.budget_seconds,
                 "[s] time for each benchmark (default 120)"),
           Ruled("--timeout", {.limits = AboveZero{}}, &request.timeout_seconds,
                 "[s] limit for each answer of a benchmark's process (default 60)"),
           {"--min-effect", &flags->min_effect, "ignore smaller gains (default 2%)"},
           {"--seed", &request.seed,
            "seed of the random order of interleaved settings (default 1)"},
           BenchOption(request.bench)},
      .run = [flags] { return Run(*flags); }};
}

[[maybe_unused]] const bool tune_registered = RegisterCommand(MakeTune);

}  // namespace
}  // namespace dlroof::commands
