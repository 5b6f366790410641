// The node that a process is on, by the variables that its launcher set.
#pragma once

#include <functional>
#include <string>

#include "baselines/cluster/gather.h"

namespace dlroof::cluster_run {

// Returns an environment variable's value; empty: not set.
using Environment = std::function<std::string(const std::string& name)>;

// Returns name, known_by, engine, rank, job and place. The first of these that is set names the
// engine: SLURMD_NODENAME (with SLURM_PROCID), OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK,
// FLUX_TASK_RANK. The name is Slurm's, else `host`; of several tasks on one node with "-taskN".
// Returns the same of a process that has one of its node's GPUs where `per_gpu`: its name ends in
// "-gpuN", by its number on the node, and `gpu` is GpuOfTask's. Throws BadInput for a name that can
// be no file's, and for a process of a GPU whose launcher does not number a node's processes.
cluster::NodeFacts IdentifyNode(const Environment& environment, const std::string& host,
                       bool per_gpu = false);

// Returns the GPU that the node's process number `local` is to see, as CUDA_VISIBLE_DEVICES has it.
// A launcher that gave the process one has decided; of a longer list it is the process's entry,
// without a list its number. Throws BadInput for a list that is too short.
std::string GpuOfTask(const std::string& visible, const std::string& local);

// The same of this process, with the CPUs that it may use and those that are online.
cluster::NodeFacts ThisNode(bool per_gpu = false);

}  // namespace dlroof::cluster_run
