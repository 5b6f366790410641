// dlroof completion: writes the bash completion script of dlroof and dlroof_bench, or their flags.
#include <iostream>
#include <memory>

#include "bench/commands/commands.h"
#include "bench/runner/bench_flags.h"
#include "bench/runner/command.h"
#include "bench/suites/suite.h"
#include "ceilings/machine_file/specified_machine.h"
#include "counters/base/files.h"
#include "counters/base/keys.h"

namespace dlroof::commands {
namespace {

runner::TypeCompletions Types() {
  const auto gpus = machine_file::KnownGpuNames();
  return {{runner::kFile, {" file"}},
          {runner::kFolder, {" folder"}},
          {runner::kSuite,
           {" list file", VectorOf<std::string>(suites::BuiltInSuites(), &EmbeddedFile::name)}},
          {runner::kMachine, {" file", {gpus.begin(), gpus.end()}}},
          {runner::kBenchmark, {" file"}},
          {runner::kFlag, {" flags"}},
          {runner::kProgram, {" program"}},
          {"DEVICE", {"", {"auto", "cpu", "gpu"}}}};
}

Command MakeCompletion() {
  const auto form = std::make_shared<std::string>();
  return {
      .name = "completion",
      .about =
          "complete commands, flags, choices and files in bash: source <(dlroof completion bash)",
      .options = {Ruled("FORM", {.choices = {"bash", "table"}, .required = true}, form.get(),
                        "bash: the script; table: every flag of every command but --help, for "
                        "other programs: columns, separated by tabs, for the command, the flag, "
                        "what it takes, whether it is required, and its choices")},
      .run = [form] {
        const bool script = *form == "bash";
        const std::vector<Command> programs = {Program(), runner::DescribeProgram(script)};
        std::cout << (script ? runner::BashCompletion(programs, Types())
                             : runner::WriteFlagTable(programs))
                  << std::flush;
        return 0;
      }};
}

[[maybe_unused]] const bool completion_registered = RegisterCommand(MakeCompletion);

}  // namespace
}  // namespace dlroof::commands
