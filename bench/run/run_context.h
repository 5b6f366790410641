// What a run file says about how it was made (context.dlroof).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/workload/workload.h"

namespace dlroof {

// dlroof pins threads itself. OpenMP, told to pin them too (OMP_PROC_BIND, OMP_PLACES,
// GOMP_CPU_AFFINITY), has bound the program to one CPU before it begins, so that the others look
// forbidden. Throws BadInput naming the variable.
void RefuseForeignPinning();

// The command as a shell would take it again: arguments quoted where they need it.
std::string CommandLine(const std::vector<std::string>& args);

// schema, version, commit, compiler, command, conventions, the ops' words for reports, libraries,
// environment variables that steer them, seed, and "counters": what was asked of the counter
// manager and, by name, why a source that it means cannot count on this CPU (records then hold
// modelled bytes).
nlohmann::json RunContext(const std::string& command, const RunSettings& settings);

}  // namespace dlroof
