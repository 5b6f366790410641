// The node that a process is on, by the variables that its launcher set.
#pragma once

#include <functional>
#include <string>

#include "baselines/cluster/gather.h"

namespace dlroof {

// Returns an environment variable's value; empty: not set.
using Environment = std::function<std::string(const std::string& name)>;

// Returns name, known_by, engine, rank, job and place. The first of these that is set names the
// engine: SLURMD_NODENAME (with SLURM_PROCID), OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK,
// FLUX_TASK_RANK. The name is Slurm's, else `host`; of several tasks on one node with "-taskN".
// Throws BadInput for a name that can be no file's.
NodeFacts IdentifyNode(const Environment& environment, const std::string& host);

// The same of this process, with the CPUs that it may use and those that are online.
NodeFacts ThisNode();

}  // namespace dlroof
