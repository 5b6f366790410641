// The run's provenance in context.dlroof of a run file, and the child process that counts one call
// of one benchmark under valgrind's cache simulator (the counter source "simulate").
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/cpu/process_limits.h"

namespace dlroof::runner {

// Returns context.dlroof: schema, version, commit, compiler, command, conventions, the operators'
// terms for reports, libraries, relevant environment variables, seed, and "counters": the chosen
// source, and why other sources cannot count on this CPU (records then have modelled bytes).
nlohmann::json RunContext(const std::string& command, const workload::RunSettings& settings);

// The counter source "simulate" starts dlroof_bench again with this flag and the benchmark's name.
// The only other flag allowed is --dlroof_seed=N.
inline constexpr const char* kSimulatedCallFlag = "--dlroof_simulated_call=";

struct SimulationRequest {
  std::string name;  // name of the benchmark
  unsigned seed = 1;
};

// Returns the request, or nullopt without kSimulatedCallFlag. Throws BadInput for other flags.
std::optional<SimulationRequest> SimulatedCallIn(const std::vector<std::string>& args);

// Prepares the benchmark with one thread, brings the simulated caches into the cache state in its
// name, counts one call, and prints {"algorithm": NAME}. Before the counted call,
//   warm           the same call runs
//   cold           a call on a second set of tensors runs
//   cold-weights   as cold, then every tensor except the weights is read
// Without valgrind the call runs uncounted. Returns the exit code. Throws what Workload::prepare
// throws, and BadInput for a name that is no benchmark's.
int RunSimulatedCall(const SimulationRequest& request);
// As RunSimulatedCall, for an already prepared call. `twin` is the same call on a second set of
// tensors, which is not used if the workload's cache state is warm.
void CountSimulatedCall(const workload::Workload& workload, const workload::PreparedCall& call,
                        const workload::PreparedCall& twin);

// Throws BadInput if a variable binds OpenMP's threads (OMP_PROC_BIND, OMP_PLACES,
// GOMP_CPU_AFFINITY). With any of these, OpenMP binds the program to one CPU before main, and other
// CPUs appear to be forbidden. dlroof pins threads itself.
void RefusePinning(const cpu::Environment& environment = cpu::ProcessEnvironment());

// Throws BadInput if OMP_THREAD_LIMIT allows fewer than `threads` threads: a oneDNN primitive on
// fewer threads than it was made for computes a wrong result.
void RefuseThreadLimit(int threads,
                       const cpu::Environment& environment = cpu::ProcessEnvironment());

// Returns context.dlroof.limits ("limit", "found" and "effect" of each), or null without limits.
nlohmann::json LimitsContext(const std::vector<cpu::Limit>& limits);

// Watches how often the quota of CPU time stops this process's control group.
class QuotaWatch {
 public:
  explicit QuotaWatch(cpu::CpuQuota quota, cpu::ReadText read);

  // Returns the counts since construction, or zeros if they cannot be read. Takes some 10 us.
  cpu::Throttling Read() const;
  // Returns a sentence with how often the quota stopped the process in `during`, nullopt if never.
  std::optional<Reason> Stopped(const cpu::Throttling& during) const;

 private:
  cpu::CpuQuota quota_;
  cpu::ReadText read_;
  std::optional<cpu::Throttling> begin_;  // absent: could not be read
};

// Begins to watch the quota of CPU time in `limits`. Returns null if there is none.
std::unique_ptr<QuotaWatch> WatchQuota(const cpu::LimitFacts& limits);

}  // namespace dlroof::runner
