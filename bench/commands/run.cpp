// dlroof run: supervises dlroof_bench, or two builds of it interleaved.
#include <fmt/format.h>

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
  std::string bench;
  std::vector<std::string> builds;  // BASE's program and NEW's
  std::string order = "random";
  std::string map;
  std::string min_effect;  // "2%" or "0.02"
  supervise::RunRequest request;
};

supervise::RunRequest RequestFrom(const RunFlags& flags) {
  supervise::RunRequest request = flags.request;
  const bool two = !flags.builds.empty();
  request.programs =
      two ? flags.builds : std::vector<std::string>{supervise::BenchProgram(flags.bench)};
  if (request.outputs.empty())
    request.outputs = two ? std::vector<std::string>{"old.json", "new.json"}
                          : std::vector<std::string>{"run.json"};
  if (request.outputs.size() != request.programs.size())
    throw BadInput(two ? "run: expected -o twice with --ab, BASE's run file and NEW's"
                       : "run: expected -o once, the run file");
  if (two && request.outputs.front() == request.outputs.back())
    throw BadInput(request.outputs.front() + ": expected two different run files");
  request.random_order = flags.order == "random";
  request.min_effect = ParseShare("--min-effect", flags.min_effect).value_or(request.min_effect);
  if (flags.map.empty()) return request;
  if (!two) throw BadInput("--map: expected --ab, whose programs have names that differ");
  request.names = compare::ReadNameMap(flags.map);
  return request;
}

void AddFileOptions(CLI::App& command, RunFlags& flags) {
  auto& request = flags.request;
  command.add_option("ARGUMENTS", request.arguments,
                     "after --: what dlroof_bench is given, such as --benchmark_filter=...");
  auto* bench =
      command.add_option("--bench", flags.bench, "the program (dlroof_bench beside this)");
  command
      .add_option("--ab", flags.builds,
                  "BASE and NEW: two builds of dlroof_bench, measured interleaved in short blocks "
                  "until each verdict is sure; the exit code is that of compare")
      ->expected(2)
      ->excludes(bench);
  command
      .add_option("-o,--output", request.outputs,
                  "run file (run.json); with --ab twice (old.json, new.json). The journal lies "
                  "beside the last one until all is done")
      ->allow_extra_args(false);
  command.add_flag("--resume", request.resume, "go on after an interrupt, a kill or a budget");
  command.add_option("--min-effect", flags.min_effect,
                     "with --ab: smaller changes do not matter (2%)");
  command.add_option("--map", flags.map,
                     "with --ab: file with a line 'base-name new-name' per renamed benchmark");
}

void AddTimeOptions(CLI::App& command, RunFlags& flags) {
  auto& request = flags.request;
  command
      .add_option("--timeout", request.timeout_seconds,
                  "[s] for one benchmark, or one block of it (600)")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--budget", request.budget_seconds,
                  "[s] nothing begins later; what there is, is written")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--order", flags.order, "of the benchmarks: random, file (random)")
      ->check(CLI::IsMember({"random", "file"}));
  command.add_option("--seed", request.seed, "of the order (drawn)");
  command.add_option("--retries", request.retries, "of a benchmark whose time is noisy (2)")
      ->check(CLI::Range(0, 100));
  command.add_option("--cooldown", request.cooldown_seconds, "[s] before the first of them (2)")
      ->check(CLI::NonNegativeNumber);
}

void AddRunCommand(CLI::App& program, int& exit_code) {
  auto flags = std::make_shared<RunFlags>();
  auto* command = program.add_subcommand(
      "run",
      "supervise dlroof_bench: a process per benchmark, a journal, --resume; or compare two builds "
      "interleaved (--ab)");
  AddFileOptions(*command, *flags);
  AddTimeOptions(*command, *flags);
  command->callback([flags, &exit_code] {
    const auto request = RequestFrom(*flags);
    if (request.resume && supervise::IsFinished(request)) {
      std::cerr << fmt::format("{}: finished, nothing is left to do\n", request.outputs.back());
      exit_code = 0;
      return;
    }
    StopOnInterrupt();
    exit_code =
        request.programs.size() == 1
            ? supervise::Supervise(request, std::cerr)
            : VerdictOf("run", [&] { return supervise::SuperviseBlocks(request, std::cerr); });
  });
}

[[maybe_unused]] const bool run_registered = RegisterCommand("run", AddRunCommand);
}  // namespace

}  // namespace dlroof::commands
