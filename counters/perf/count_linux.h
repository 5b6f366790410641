// The kernel's side of counters/perf_count.h.
#pragma once

#include <functional>
#include <vector>

#include "counters/perf/count.h"

namespace dlroof {

// A PerfBackend: perf_event_open(2). Core events are counted in user space on each thread that this
// process has when the call begins (an OpenMP pool is there by then), those of other PMUs on the
// CPUs that their cpumask names, for every program there.
std::vector<std::vector<PerfReading>> CountInKernel(const std::vector<PmuEvent>& events,
                                                    const std::function<void()>& call);

}  // namespace dlroof
