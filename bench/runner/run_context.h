// The provenance of a run file (context.dlroof).
//
// The child of the counter source "simulate": one call of one benchmark, marked so that valgrind's
// cache simulator counts it and nothing else.
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

// Makes dlroof_bench such a child: "--dlroof_simulated_call=NAME [--dlroof_seed=N]".
inline constexpr const char* kSimulatedCallFlag = "--dlroof_simulated_call=";

bool AsksForSimulatedCall(const std::vector<std::string>& args);

// Prepares the benchmark with one thread, puts the simulated caches into the state that its name
// asks for (warm: one call before; cold: one call of the same on other tensors before;
// cold-weights: that, then every tensor but the weights read), counts one call, and prints
// {"algorithm", "isa", "loops": how they are modelled, "tensor_bytes": as laid out, padding and
// all, "modelled": {"l2": bytes, ...}} as JSON. Without valgrind around it the marks do nothing.
// Throws as the benchmark's prepare does; BadInput for other arguments. Returns the exit code.
int RunSimulatedCall(const std::vector<std::string>& args);

}  // namespace dlroof::runner
