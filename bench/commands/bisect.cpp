// dlroof bisect: finds the commit that changed a benchmark's time.
#include "bench/bisect/bisect.h"

#include <algorithm>
#include <iostream>
#include <memory>

#include "bench/command_line/description.h"
#include "bench/commands/commands.h"
#include "counters/base/error.h"
#include "counters/base/process.h"

namespace dlroof::commands {
namespace {

struct BisectFlags {
  bisect::Request request;
  std::optional<std::string> min_effect;
  std::vector<std::string> revisions;  // CLI11 adds the words after -- to them
  std::vector<std::string> what;       // stays empty: shown in the help only
  bool step = false;
};

int RunBisect(const BisectFlags& flags) {
  auto request = flags.request;
  const auto& words = WordsAfterDashes();
  if (words.empty())
    throw BadInput(
        "bisect: expected the benchmark's name behind --: dlroof bisect GOOD BAD -- NAME");
  const std::size_t wanted = flags.step ? 1 : 2;
  const std::vector<std::string> revisions(
      flags.revisions.begin(), flags.revisions.end() - static_cast<std::ptrdiff_t>(std::min(
                                                           words.size(), flags.revisions.size())));
  if (revisions.size() != wanted)
    throw BadInput(flags.step ? "bisect: expected one commit, GOOD, with --step"
                              : "bisect: expected two commits, GOOD and BAD");
  request.good = revisions.front();
  request.bad = revisions.back();
  request.name = words.front();
  request.arguments.assign(words.begin() + 1, words.end());
  request.min_effect = ParseShare("--min-effect", flags.min_effect).value_or(request.min_effect);
  StopOnInterrupt();
  return flags.step ? bisect::Step(request, std::cerr)
                    : bisect::Bisect(request, std::cout, std::cerr);
}

void AddBisectCommand(CLI::App& program, int& exit_code) {
  auto flags = std::make_shared<BisectFlags>();
  auto& request = flags->request;
  auto* command = program.add_subcommand(
      "bisect",
      "find the commit that changed a benchmark's time: builds commits between GOOD and BAD and "
      "measures each interleaved with GOOD");
  command
      ->add_option("COMMITS", flags->revisions,
                   "GOOD and BAD, the older one first; only GOOD with --step")
      ->required();
  command
      ->add_option("NAME", flags->what,
                   "after --: the benchmark's name, and arguments of its program")
      ->type_name(command_line::kFlag);
  command->add_option(
      "--build", request.build,
      "shell command that builds a commit, run in the root of a worktree (default: the release "
      "preset of CMake, target dlroof_bench)");
  command
      ->add_option("--program", request.program,
                   "path of the program in the worktree (default build/dlroof_bench)")
      ->type_name(command_line::kFile);
  command->add_option("-C", request.repository, "folder of the repository (default .)")
      ->type_name(command_line::kFolder);
  command
      ->add_option("--worktrees", request.folder,
                   "folder for the worktrees, which stay there, so that later builds compile only "
                   "what changed (default: a temporary one)")
      ->type_name(command_line::kFolder);
  command
      ->add_option("--budget", request.budget_seconds, "[s] for measuring one commit (default 120)")
      ->check(CLI::PositiveNumber);
  command->add_option("--min-effect", flags->min_effect,
                      "a smaller difference between GOOD and BAD is none (default 2%)");
  command->add_flag("--step", flags->step,
                    "compare the checked-out tree with GOOD and exit as `git bisect run` expects: "
                    "0 like GOOD, 1 not, 125 cannot tell");
  command->callback(
      [flags, &exit_code] { exit_code = VerdictOf("bisect", [&] { return RunBisect(*flags); }); });
}

[[maybe_unused]] const bool bisect_registered = RegisterCommand("bisect", AddBisectCommand);
}  // namespace

}  // namespace dlroof::commands
