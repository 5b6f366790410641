// dlroof cluster script: the script that starts every node.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <iostream>
#include <memory>

#include "bench/cluster/commands.h"
#include "bench/cluster/launch_script.h"
#include "counters/base/error.h"
#include "counters/base/files.h"

namespace dlroof {
namespace {

namespace fs = std::filesystem;

struct ScriptFlags {
  LaunchRequest request{.engine = "slurm", .out = "", .dlroof = "", .arguments = {}, .options = {}};
  std::string output;
};

std::string ThisProgram() {
  std::error_code none;
  const auto path = fs::read_symlink("/proc/self/exe", none);
  if (none) throw BadInput("cluster script: this program's path is not known; give --dlroof");
  return path.string();
}

int RunScript(ScriptFlags flags) {
  auto& request = flags.request;
  request.out = fs::absolute(request.out).string();
  request.dlroof = request.dlroof.empty() ? ThisProgram() : fs::absolute(request.dlroof).string();
  const auto script = LaunchScript(request);
  if (flags.output.empty()) {
    std::cout << script << std::flush;
    return 0;
  }
  WriteFile(flags.output, script);
  std::cerr << "wrote " << flags.output << '\n';
  return 0;
}

}  // namespace

void AddClusterScript(CLI::App& cluster, int& exit_code) {
  auto flags = std::make_shared<ScriptFlags>();
  auto* command = cluster.add_subcommand(
      "script",
      "a script that measures every node of a job and gathers; again it does what is missing");
  std::vector<std::string> engines;
  for (const auto& script : LaunchScripts()) engines.emplace_back(script.name);
  auto& request = flags->request;
  command
      ->add_option("--engine", request.engine, fmt::format("{} (slurm)", fmt::join(engines, ", ")))
      ->check(CLI::IsMember(engines));
  command->add_option("-N,--nodes", request.nodes, "number of nodes")
      ->required()
      ->check(CLI::Range(1, 100000));
  command->add_option("--out", request.out, "folder that all nodes share")->required();
  command->add_option("--dlroof", request.dlroof, "this program on the nodes (this one's path)");
  command
      ->add_option(
          "--option", request.options,
          "for sbatch (--option=--partition=gpu), mpirun or ReFrame's job; may be repeated")
      ->allow_extra_args(false);
  command->add_option("-o,--output", flags->output, "write it there (standard output)");
  command->add_option("ARGUMENTS", request.arguments,
                      "after --: what dlroof_bench is given, such as --dlroof_suite=resnet50");
  command->callback([flags, &exit_code] { exit_code = RunScript(*flags); });
}

}  // namespace dlroof
