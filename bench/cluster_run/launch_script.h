// The scripts that start `dlroof cluster node` on every node of a scheduler's or mpirun's.
#pragma once

#include <string>
#include <vector>

#include "counters/base/files.h"

namespace dlroof::cluster_run {

// Returns the scripts' texts with {{keys}} for what LaunchScript fills in: "slurm", "mpirun",
// "reframe"; "slurm-revisit" for some nodes, several times; "slurm-net", "slurm-revisit-net" and
// "mpirun-net", parts that measure the network.
const std::vector<EmbeddedFile>& LaunchScripts();

struct LaunchRequest {
  std::string engine;
  int nodes = 1;
  std::string out;                     // the folder that all nodes share, absolute
  std::string dlroof;                  // this program, absolute
  std::vector<std::string> arguments;  // of dlroof_bench
  std::vector<std::string> options;    // for sbatch, mpirun or ReFrame's job
  std::vector<std::string> names;      // of the nodes to visit again
  int visits = 0;                      // [1] of these
  std::string order = "at-once";       // or "one-by-one": node after node
  double meet_seconds = 300;           // [s] for which nodes at once wait for each other
  int gpus = 0;  // [1] processes of a node, each with a GPU of its own; 0: one, with all of them
  bool net = false;  // dlroof_net, beside this program, measures the network too
};

// Returns the script. No text of the request becomes a command. Processes with a GPU each measure
// --dlroof_device=gpu. Throws BadInput: an unknown engine, text that the script cannot hold (a
// newline), another device than their GPU for those processes.
std::string LaunchScript(const LaunchRequest& request);

}  // namespace dlroof::cluster_run
