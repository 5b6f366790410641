// dlroof run: supervises runs of dlroof_bench, or compares two builds interleaved.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>

#include "bench/commands/commands.h"
#include "bench/supervise/supervise.h"
#include "bench/supervise/supervised_program.h"
#include "counters/base/error.h"
#include "counters/base/process.h"

namespace dlroof::commands {
namespace {

struct RunFlags {
  std::optional<std::string> bench;
  std::vector<std::string> builds;     // BASE and NEW
  std::vector<std::string> libraries;  // paths: OLD and NEW
  std::string order = "random";
  std::optional<std::string> map;
  std::optional<std::string> min_effect;  // "2%" or "0.02"
  supervise::RunRequest request;
};

supervise::RunRequest RequestFrom(const RunFlags& flags) {
  supervise::RunRequest request = flags.request;
  const bool two = !flags.builds.empty() || !flags.libraries.empty();
  const auto bench = supervise::BenchProgram(flags.bench);
  request.programs = {bench};
  if (!flags.builds.empty()) request.programs = flags.builds;
  for (auto& program : request.programs)  // without a "/", PATH would be searched
    if (program.find('/') == std::string::npos && std::filesystem::exists(program))
      program = "./" + program;
  if (!flags.libraries.empty()) request.programs = {bench, bench};
  for (const auto& library : flags.libraries) {
    if (!std::filesystem::exists(library))
      throw BadInput("--ab-library: {}: no such file", library);
    request.libraries.push_back(std::filesystem::absolute(library).string());
  }
  if (request.outputs.empty())
    request.outputs = two ? std::vector<std::string>{"old.json", "new.json"}
                          : std::vector<std::string>{"run.json"};
  if (request.outputs.size() != request.programs.size())
    throw BadInput(two ? "run: expected -o twice with --ab and --ab-library, for the run files of "
                         "BASE and NEW"
                       : "run: expected -o once, for the run file");
  if (two && request.outputs.front() == request.outputs.back())
    throw BadInput(request.outputs.front() + ": expected two different run files");
  request.random_order = flags.order == "random";
  request.min_effect = ParseShare("--min-effect", flags.min_effect).value_or(request.min_effect);
  if (two && request.processes > 1)
    throw BadInput("--processes: each block of --ab and --ab-library has new processes already");
  if (!flags.map) return request;
  if (!two) throw BadInput("--map: expected --ab; --map pairs the benchmarks of two programs");
  request.names = ReadNameMap(*flags.map);
  return request;
}

int RunAll(const RunFlags& flags) {
  const auto request = RequestFrom(flags);
  if (request.resume && supervise::IsFinished(request)) {
    std::cerr << fmt::format("{}: finished, nothing is left to do\n", request.outputs.back());
    return 0;
  }
  StopOnInterrupt();
  return supervise::Supervise(request, std::cerr);
}

Command MakeRun() {
  auto flags = std::make_shared<RunFlags>();
  auto& request = flags->request;
  return {
      .name = "run",
      .about =
          "run dlroof_bench with one process per benchmark and a journal to resume from; or "
          "compare two builds (--ab) or two versions of oneDNN (--ab-library) interleaved",
      .options =
          {Ruled("ARGUMENTS", {.type = runner::kFlag}, &request.arguments,
                 "after --: arguments for dlroof_bench, such as --benchmark_filter=..."),
           BenchOption(flags->bench),
           Ruled("--ab", {.type = kFile, .one_each = true, .words = 2, .excludes = {"--bench"}},
                 &flags->builds,
                 "BASE and NEW: two builds of dlroof_bench to measure interleaved in short blocks "
                 "until each verdict is certain; the exit code is that of dlroof compare"),
           Ruled("--ab-library",
                 {.type = kFile, .one_each = true, .words = 2, .excludes = {"--ab"}},
                 &flags->libraries,
                 "OLD and NEW: two files of oneDNN (libdnnl.so.3, 3.2 or newer) to measure "
                 "interleaved as with --ab"),
           Ruled("-o,--output", {.type = kFile}, &request.outputs,
                 "run file to write (default run.json); with --ab and --ab-library twice (default "
                 "old.json and new.json). Until all is done, a journal is beside the last one"),
           {"--resume", &request.resume,
            "continue a run that an interrupt, a kill or --budget ended"},
           {"--min-effect", &flags->min_effect, "with --ab: ignore smaller changes (default 2%)"},
           Ruled("--map", {.type = kFile}, &flags->map,
                 "with --ab: file with a line 'base-name new-name' for each renamed benchmark"),
           Ruled("--timeout", {.limits = AboveZero{}}, &request.timeout_seconds,
                 "[s] limit for one benchmark, or for one block of it (default 600)"),
           Ruled("--budget", {.limits = AtLeastZero{}}, &request.budget_seconds,
                 "[s] begin no benchmark after this time; the finished ones are written"),
           Ruled("--order", {.choices = {"random", "file"}}, &flags->order,
                 "order of the benchmarks: random (default), or file (as they are listed)"),
           Ruled("--processes", {.limits = Range{1, 1000}}, &request.processes,
                 "measure each benchmark in this many processes (default 1), in as many passes "
                 "over all; dlroof compare judges runs of 3 or more by the fastest quarter of the "
                 "repetitions, with the error between processes"),
           {"--seed", &request.seed, "seed of the order (default: drawn)"},
           Ruled("--retries", {.limits = Range{0, 100}}, &request.retries,
                 "how often to measure a noisy benchmark again (default 2); not with --processes"),
           Ruled("--cooldown", {.limits = AtLeastZero{}}, &request.cooldown_seconds,
                 "[s] pause before the first retry, doubled each time (default 2)")},
      .run = [flags] { return RunAll(*flags); }};
}

[[maybe_unused]] const bool run_registered = RegisterCommand(MakeRun);

}  // namespace
}  // namespace dlroof::commands
