// The subcommands of `dlroof cluster`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "baselines/cluster/gather.h"
#include "bench/runner/command.h"

namespace dlroof::cluster_run {

runner::Command MakeClusterScript();
runner::Command MakeClusterNode();
runner::Command MakeClusterGather();
runner::Command MakeClusterReport();
runner::Command MakeClusterVersus();

struct LaunchRequest {
  int nodes = 0;
  std::string out;                                // the folder that all nodes share, absolute
  std::string dlroof;                             // absolute path of this program
  std::vector<std::string> arguments;             // arguments of dlroof_bench
  std::vector<std::string> options;               // options for sbatch
  std::optional<std::vector<std::string>> names;  // nodes to measure; absent: Slurm takes any
  int visits = 0;                                 // [1] number of re-measurements of `names`
  std::optional<int> gpus;  // [1] processes per node, each with one GPU; absent: one with all GPUs
};

// Returns the sbatch script, in which all texts of the request are quoted. With `gpus`, its
// processes measure --dlroof_device=gpu. Throws BadInput for text with control characters, and if
// `gpus` is set and the arguments choose another device.
std::string LaunchScript(const LaunchRequest& request);

}  // namespace dlroof::cluster_run
