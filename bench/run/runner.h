// One workload through Google Benchmark. The only file of bench/ that sees benchmark::State.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/run/turns.h"
#include "bench/workload/workload.h"
#include "counters/counter_manager.h"
#include "counters/gpu/clock.h"

namespace dlroof {

// What a run has beside its settings; all of it may be missing.
struct RunnerMeans {
  std::function<GpuClock()> open_gpu;  // called when the first benchmark of a GPU is about to run
  // Outlives the benchmarks: each repetition waits for its turn and begins with calls that are not
  // timed, so that caches are as warm as without a break.
  Turns* turns = nullptr;
  // [1/cycle] the best that the machine's core is known to issue; asked for when a benchmark runs.
  std::function<std::optional<double>()> issue_rate;
  // [s] that Google Benchmark wants a repetition to take; absent: not known.
  std::optional<double> min_seconds;
};

// Registers every workload with Google Benchmark under its name; nothing is prepared before its
// body runs. At most one workload is prepared at a time, so that memory in use is that of one
// benchmark. What comes back is for Session::CountLater: it asks a GPU's hardware counters about
// the calls that were timed, each prepared once more. To be called after the last was timed, for
// CUPTI makes launches slower for as long as a process lives that it was once attached to.
std::function<std::map<std::string, Counting>()> RegisterWorkloads(
    const std::vector<Workload>& workloads, const RunSettings& settings,
    const RunnerMeans& means = {});

// Whether its times come from a clock of its own (a GPU's, or one that stops while caches are
// emptied), so that Google Benchmark appends "/manual_time" to its name.
bool UsesManualTime(const Workload& workload);

}  // namespace dlroof
