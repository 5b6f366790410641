// One workload through Google Benchmark. The only file of bench/ that sees benchmark::State.
#pragma once

#include <string>
#include <vector>

#include "bench/workload.h"

namespace dlroof {

// Registers every workload with Google Benchmark under its name; nothing is prepared before its
// body runs. At most one workload is prepared at a time, so that memory in use is that of one
// benchmark.
void RegisterWorkloads(const std::vector<Workload>& workloads, const RunSettings& settings);

// From now on SIGINT and SIGTERM let the running benchmark finish its repetition and skip the rest;
// a second one ends the program at once.
void StopOnInterrupt();
bool StoppedByInterrupt();

}  // namespace dlroof
