// Workloads whose parallel regions were watched while they were timed, and how they run alone.
#pragma once

#include <map>
#include <string>

#include "bench/timing/watched_calls.h"
#include "bench/workload/workload.h"
#include "counters/parallel_time.h"

namespace dlroof {

struct WatchedWorkload {
  Workload workload;
  WatchedCalls calls;
};
using WatchedWorkloads = std::map<std::string, WatchedWorkload>;  // by name

// Times each workload made for one thread, and returns what is then known of its calls. To be
// called when all is timed: another call of the same kind that was there while one is timed would
// change where its buffers lie. A workload that cannot be made for one thread is left out, and so
// are those that an interrupt leaves. Counts the instructions of each: by hardware; else, where
// `step_seconds` is more than 0, by so many seconds of single steps, then by callgrind.
std::map<std::string, ParallelTime> ParallelTimes(WatchedWorkloads& watched, RunSettings settings,
                                                  double step_seconds);

}  // namespace dlroof
