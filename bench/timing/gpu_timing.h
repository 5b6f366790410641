// The three times of a call on a GPU, which are never mixed. Pure but for the given clock.
//
//   seconds              from an idle GPU, launch included; Google Benchmark's loop
//   throughput_seconds   back to back, all started before the first begins, if possible
//   graph_seconds        replayed as nodes of one CUDA graph, whose launch many calls share
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "counters/gpu/clock.h"
#include "reporters/record/gpu_sample.h"

namespace dlroof {

// Returns the number of calls of `seconds` each that fill `target_seconds`: at least 1, at most
// `most`. Calls that take no time get `most`.
int CallsToFill(double seconds, double target_seconds, int most);

struct GpuRegion {
  const void* begin = nullptr;
  std::size_t bytes = 0;
};
// The state of memory and L2 before a call.
struct GpuCacheState {
  bool flush = false;              // empty L2 before each call
  std::vector<GpuRegion> touched;  // put into L2 after the flush
  std::function<void()> renew;     // precedes both; PreparedCall's
};

// Returns the state for `cache`. Throws Unsupported for cold weights if the call does not name its
// weights.
GpuCacheState GpuCacheOf(const PreparedCall& call, CacheState cache);

// Establishes the state. Does nothing for a warm call without `renew`.
void MakeReady(const GpuClock& clock, const GpuCacheState& cache);

// Returns the `seconds` of one call. [s]
double TimeOnce(const GpuClock& clock, const Enqueue& call, const GpuCacheState& cache);

// Measures the other two times of a call of `seconds`, each a median, and the GPU's clock and
// health under load. A cold call has neither time, because calls back to back are warm. `renew`
// precedes each batch and each replay; later calls of a batch do the same work on consumed data. If
// a graph cannot be captured, or calls are not launched before the first begins, that time is
// absent and `why_not` has the reason. Other failures throw.
GpuSample SampleGpu(const GpuClock& clock, const Enqueue& call, double seconds,
                    const GpuCacheState& cache, std::string& why_not);

}  // namespace dlroof
