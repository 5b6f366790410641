// The scripts that start `dlroof cluster node` on every node of a job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "counters/base/files.h"

namespace dlroof::cluster_run {

// Returns the templates, in which LaunchScript replaces {{keys}}: the scripts "slurm", "mpirun",
// "reframe" and "slurm-revisit" (some nodes, several times), and the parts "slurm-net",
// "slurm-revisit-net" and "mpirun-net", which measure the network.
const std::vector<EmbeddedFile>& LaunchScripts();

struct LaunchRequest {
  std::string engine;
  int nodes = 1;
  std::string out;                     // the folder that all nodes share, absolute
  std::string dlroof;                  // this program, absolute
  std::vector<std::string> arguments;  // of dlroof_bench
  std::vector<std::string> options;    // for sbatch, mpirun or ReFrame's job
  std::vector<std::string> names;      // nodes to visit again ("slurm-revisit")
  int visits = 0;                      // [1] number of these visits
  std::string order = "at-once";       // or "one-by-one", node after node
  double meet_seconds = 300;           // [s] deadline of the barrier before each benchmark
  std::optional<int> gpus;             // [1] processes per node with one GPU each, unless one
                                       // process has all GPUs of its node
  bool net = false;                    // also measure the network by dlroof_net
};

// Returns the script, in which all texts of the request are quoted. Processes with one GPU measure
// --dlroof_device=gpu. Throws BadInput for an unknown engine, for text with control characters, and
// for another device with `gpus`.
std::string LaunchScript(const LaunchRequest& request);

}  // namespace dlroof::cluster_run
