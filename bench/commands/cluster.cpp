// dlroof cluster: runs the same benchmarks on many nodes, and compares clusters.
#include "bench/cluster_run/commands.h"
#include "bench/commands/commands.h"

namespace dlroof::commands {
namespace {

Command MakeCluster() {
  return {.name = "cluster",
          .about = "run the same benchmarks on many nodes, find slow nodes, and compare clusters",
          .commands = {cluster_run::MakeClusterScript(), cluster_run::MakeClusterNode(),
                       cluster_run::MakeClusterGather(), cluster_run::MakeClusterReport(),
                       cluster_run::MakeClusterVersus()}};
}

[[maybe_unused]] const bool cluster_registered = RegisterCommand(MakeCluster);

}  // namespace
}  // namespace dlroof::commands
