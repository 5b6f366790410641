// dlroof cluster: runs the same benchmarks on many nodes, and compares clusters.
#include "bench/cluster_run/commands.h"
#include "bench/commands/commands.h"

namespace dlroof::commands {
namespace {

void AddClusterCommand(CLI::App& program, int& exit_code) {
  auto* command = program.add_subcommand(
      "cluster", "run the same benchmarks on many nodes, find slow nodes, and compare clusters");
  command->require_subcommand(1);
  cluster_run::AddClusterScript(*command);
  cluster_run::AddClusterNode(*command, exit_code);
  cluster_run::AddClusterGather(*command, exit_code);
  cluster_run::AddClusterReport(*command, exit_code);
  cluster_run::AddClusterVersus(*command);
}

[[maybe_unused]] const bool cluster_registered = RegisterCommand("cluster", AddClusterCommand);

}  // namespace
}  // namespace dlroof::commands
