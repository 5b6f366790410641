// dlroof cluster: the same benchmarks on many nodes, and clusters side by side.
#include "bench/cluster/commands.h"
#include "bench/commands/commands.h"

namespace dlroof {
namespace {

void AddClusterCommand(CLI::App& program, int& exit_code) {
  auto* command = program.add_subcommand(
      "cluster", "the same benchmarks on many nodes, and two clusters side by side");
  command->require_subcommand(1);
  AddClusterScript(*command);
  AddClusterNode(*command, exit_code);
  AddClusterGather(*command, exit_code);
  AddClusterReport(*command);
  AddClusterVersus(*command);
  AddClusterScale(*command);
}

[[maybe_unused]] const bool cluster_registered = RegisterCommand("cluster", AddClusterCommand);

}  // namespace
}  // namespace dlroof
