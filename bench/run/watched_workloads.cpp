#include "bench/run/watched_workloads.h"

#include "counters/base/interrupt.h"

namespace dlroof {

std::map<std::string, ParallelTime> ParallelTimes(WatchedWorkloads& watched, RunSettings settings) {
  settings.threads = 1;
  std::map<std::string, ParallelTime> found;
  for (auto& [name, one] : watched) {
    if (StoppedByInterrupt()) break;
    try {
      one.calls.AddAlone(one.workload.prepare(settings));
    } catch (const std::exception&) {
      continue;  // its record keeps what was watched on all threads
    }
    if (const auto mean = one.calls.Mean()) found[name] = *mean;
  }
  return found;
}

}  // namespace dlroof
