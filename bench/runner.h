// One workload through Google Benchmark. The only file of bench/ that sees benchmark::State.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/turns.h"
#include "bench/workload.h"
#include "counters/gpu_clock.h"

namespace dlroof {

// Registers every workload with Google Benchmark under its name; nothing is prepared before its
// body runs. At most one workload is prepared at a time, so that memory in use is that of one
// benchmark. `open_gpu` is called when the first benchmark of a GPU is about to run; empty: there
// is none. With `turns`, which outlives them, each repetition waits for its turn and begins with
// calls that are not timed, so that caches are as warm as without a break.
void RegisterWorkloads(const std::vector<Workload>& workloads, const RunSettings& settings,
                       const std::function<GpuClock()>& open_gpu = {}, Turns* turns = nullptr);

// Whether its times come from a clock of its own (a GPU's, or one that stops while caches are
// emptied), so that Google Benchmark appends "/manual_time" to its name.
bool UsesManualTime(const Workload& workload);

// From now on SIGINT and SIGTERM let the running benchmark finish its repetition and skip the rest;
// a second one ends the program at once.
void StopOnInterrupt();
bool StoppedByInterrupt();

}  // namespace dlroof
