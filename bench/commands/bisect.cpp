// dlroof bisect: finds the commit that changed a benchmark's time.
#include <iostream>
#include <memory>

#include "bench/commands/commands.h"
#include "bench/supervise/supervise.h"
#include "counters/base/error.h"
#include "counters/base/process.h"

namespace dlroof::commands {
namespace {

struct BisectFlags {
  supervise::Request request;
  std::optional<std::string> min_effect;
  std::vector<std::string> revisions, what;
};

int RunBisect(const BisectFlags& flags) {
  auto request = flags.request;
  if (flags.what.empty())
    throw BadInput(
        "bisect: expected the benchmark's name behind --: dlroof bisect GOOD BAD -- NAME");
  if (flags.revisions.size() != 2) throw BadInput("bisect: expected two commits, GOOD and BAD");
  request.good = flags.revisions.front();
  request.bad = flags.revisions.back();
  request.name = flags.what.front();
  request.arguments.assign(flags.what.begin() + 1, flags.what.end());
  request.min_effect = ParseShare("--min-effect", flags.min_effect).value_or(request.min_effect);
  StopOnInterrupt();
  return supervise::Bisect(request, std::cout, std::cerr);
}

Command MakeBisect() {
  auto flags = std::make_shared<BisectFlags>();
  auto& request = flags->request;
  return {
      .name = "bisect",
      .about =
          "find the commit that changed a benchmark's time: builds commits between GOOD and BAD "
          "and measures each interleaved with GOOD",
      .options =
          {Ruled("COMMITS", {.required = true}, &flags->revisions,
                 "GOOD and BAD, the older one first"),
           Ruled("NAME", {.type = runner::kFlag}, &flags->what,
                 "after --: the benchmark's name, and arguments of its program"),
           {"--build", &request.build,
            "shell command that builds a commit, run in the root of a worktree (default: the "
            "release preset of CMake, target dlroof_bench)"},
           Ruled("--program", {.type = kFile}, &request.program,
                 "path of the program in the worktree (default build/dlroof_bench)"),
           Ruled("-C", {.type = kFolder}, &request.repository,
                 "folder of the repository (default .)"),
           Ruled("--budget", {.limits = AboveZero{}}, &request.budget_seconds,
                 "[s] for measuring one commit (default 120)"),
           {"--min-effect", &flags->min_effect,
            "a smaller difference between GOOD and BAD is none (default 2%)"}},
      .run = [flags] { return RunBisect(*flags); }};
}

[[maybe_unused]] const bool bisect_registered = RegisterCommand(MakeBisect);

}  // namespace
}  // namespace dlroof::commands
