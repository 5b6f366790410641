// The provenance of a run file (context.dlroof).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/workload/workload.h"

namespace dlroof::runner {

// Throws BadInput if OMP_PROC_BIND, OMP_PLACES or GOMP_CPU_AFFINITY is set. OpenMP then binds the
// program to one CPU before main, and the other CPUs look forbidden. dlroof pins threads itself.
void RefuseForeignPinning();

// Returns the command with arguments quoted for a shell where necessary.
std::string CommandLine(const std::vector<std::string>& args);

// Returns schema, version, commit, compiler, command, conventions, the ops' words for reports,
// libraries, their environment variables, seed, and "counters": the choice and, by name, the reason
// of each source that cannot count on this CPU (records then have modelled bytes).
nlohmann::json RunContext(const std::string& command, const workload::RunSettings& settings);

}  // namespace dlroof::runner
