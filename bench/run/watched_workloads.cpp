#include "bench/run/watched_workloads.h"

#include "counters/base/interrupt.h"
#include "counters/caches/simulated_instructions.h"

namespace dlroof {

namespace {

void AddAlone(const std::string& name, const PreparedCall& call, const RunSettings& settings,
              double step_seconds, WatchedCalls& calls) {
  calls.AddAlone(call, step_seconds);
  if (calls.HasInstructions() || step_seconds <= 0) return;
  if (const auto counted = SimulateInstructions(name, settings.seed, call.algorithm, call.isa))
    calls.SetInstructions(*counted);
}

}  // namespace

std::map<std::string, ParallelTime> ParallelTimes(WatchedWorkloads& watched, RunSettings settings,
                                                  double step_seconds) {
  settings.threads = 1;
  std::map<std::string, ParallelTime> found;
  for (auto& [name, one] : watched) {
    if (StoppedByInterrupt()) break;
    try {
      AddAlone(name, one.workload.prepare(settings), settings, step_seconds, one.calls);
    } catch (const std::exception&) {
      continue;  // its record keeps what was watched on all threads
    }
    if (const auto mean = one.calls.Mean()) found[name] = *mean;
  }
  return found;
}

}  // namespace dlroof
