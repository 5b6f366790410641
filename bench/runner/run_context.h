// The provenance of a run file (context.dlroof), and the child process of the counter source
// "simulate", in which valgrind's cache simulator counts one call of one benchmark.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/workload/workload.h"

namespace dlroof::runner {

// Throws BadInput if OMP_PROC_BIND, OMP_PLACES or GOMP_CPU_AFFINITY is set. With these, OpenMP
// binds the program to one CPU before main, and the other CPUs look forbidden. dlroof pins threads
// itself.
void RefuseForeignPinning();

// Returns the command line with its arguments quoted for a shell where necessary.
std::string CommandLine(const std::vector<std::string>& args);

// Returns the schema, version, commit, compiler, command, conventions, the operators' terms for
// reports, libraries, relevant environment variables, seed, and "counters": the chosen source, and
// by name the reason why a source cannot count on this CPU (records then have modelled bytes).
nlohmann::json RunContext(const std::string& command, const workload::RunSettings& settings);

// Starts dlroof_bench as the child of the source "simulate", beside at most --dlroof_seed=N.
inline constexpr const char* kSimulatedCallFlag = "--dlroof_simulated_call=";

bool AsksForSimulatedCall(const std::vector<std::string>& args);

// Prepares the benchmark with one thread, brings the simulated caches into the state that its name
// requires, counts one call, and prints as JSON {"algorithm", "isa", "loops": how the loops are
// modelled, "tensor_bytes": with padding, "modelled": {"l2": bytes, ...}}. The cache states are
//   warm           after a call
//   cold           after a call on a second set of tensors
//   cold-weights   as cold, then every tensor but the weights is read
// Without valgrind the call runs uncounted. Throws what the benchmark's prepare throws, and
// BadInput for other arguments. Returns the exit code.
int RunSimulatedCall(const std::vector<std::string>& args);

}  // namespace dlroof::runner
