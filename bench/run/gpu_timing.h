// The three times of a call on a GPU, which are never mixed. Pure but for the clock that is handed
// in.
//
//   seconds              started on an idle GPU, launch included; Google Benchmark's loop
//   throughput_seconds   back to back, all started before the first begins where that can be
//   graph_seconds        replayed as nodes of one CUDA graph, whose launch many calls share
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "counters/gpu/clock.h"
#include "reporters/record/gpu_sample.h"

namespace dlroof {

// [1] calls of `seconds` each that fill `target_seconds`; at least 1, at most `most`, which is also
// the answer for calls that take no time.
int CallsToFill(double seconds, double target_seconds, int most);

// Between `once`s: what a call must find in memory, and what it must not, and must, find in L2.
struct GpuRegion {
  const void* begin = nullptr;
  std::size_t bytes = 0;
};
struct GpuCacheState {
  bool flush = false;              // empty L2 before each call
  std::vector<GpuRegion> touched;  // and then put these into it
  std::function<void()> renew;     // before both: PreparedCall's
};

// What a call on a GPU must find in memory and in L2. Throws Unsupported where cold weights are
// asked for and the call does not say which they are.
GpuCacheState GpuCacheOf(const PreparedCall& call, CacheState cache);

// Brings about the state; does nothing where that is as the last call left it.
void MakeReady(const GpuClock& clock, const GpuCacheState& cache);

// One call as `seconds` counts it.
double TimeOnce(const GpuClock& clock, const Enqueue& call, const GpuCacheState& cache);

// After the loop of a repetition whose calls took `seconds` each: the other two times (not those of
// a cold call, for calls back to back are warm), each a median, and the GPU's clock and health
// while calls were running. What calls use up is renewed before each batch and each replay, not
// within: there every call but the first does the same work on what is left. A graph that cannot be
// captured has no time, and `why_no_graph` says why (else it is empty); any other failure throws.
GpuSample SampleGpu(const GpuClock& clock, const Enqueue& call, double seconds,
                    const GpuCacheState& cache, std::string& why_no_graph);

}  // namespace dlroof
