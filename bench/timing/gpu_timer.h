// Times calls on a GPU. Its three times are never mixed:
//
//   seconds              from an idle GPU, launch included; Google Benchmark's loop
//   throughput_seconds   back to back, all started before the first begins, if possible
//   graph_seconds        replayed as nodes of one CUDA graph, whose launch many calls share
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/timing/timer.h"
#include "bench/workload/workload.h"
#include "counters/gpu/clock.h"
#include "reporters/record/record.h"

namespace dlroof::timing {

// Returns the number of calls of `seconds` each that fill `target_seconds`: at least 1, at most
// `most`. Calls that take no time get `most`.
int CallsToFill(double seconds, double target_seconds, int most);

// The state of memory and L2 before a call.
struct GpuCacheState {
  bool flush = false;                           // empty L2 before each call
  std::vector<workload::MemoryRegion> touched;  // put into L2 after the flush
  std::function<void()> renew;                  // precedes both; PreparedCall's
};

// Returns the state for `cache`. Throws Unsupported for cold weights if the call does not name its
// weights.
GpuCacheState GpuCacheOf(const workload::PreparedCall& call, workload::CacheState cache);

// Establishes the state. Does nothing for a warm call without `renew`.
void MakeReady(const gpu::GpuClock& clock, const GpuCacheState& cache);

// Returns the `seconds` of one call. [s]
double TimeOnce(const gpu::GpuClock& clock, const gpu::Enqueue& call, const GpuCacheState& cache);

// Measures the other two times of a call of `seconds`, each a median, and the GPU's clock and
// health under load. A cold call has neither time, because calls back to back are warm. `renew`
// precedes each batch and each replay; later calls of a batch do the same work on consumed data. If
// a graph cannot be captured, or calls are not launched before the first begins, that time is
// absent and `why_not` has the reason. Other failures throw.
record::GpuSample SampleGpu(const gpu::GpuClock& clock, const gpu::Enqueue& call, double seconds,
                            const GpuCacheState& cache, std::string& why_not);

class GpuTimer : public Timer {
 public:
  // Calls `open`, which may be empty, when the first benchmark of a GPU is about to run.
  // `min_seconds` [s] is the least time of a repetition that Google Benchmark keeps; absent: not
  // known.
  GpuTimer(std::function<gpu::GpuClock()> open, std::optional<double> min_seconds)
      : open_(std::move(open)), min_seconds_(min_seconds) {}

  int Threads(const workload::Workload& workload, int threads_of_run) const override;
  void Open() override;
  void SetUp(const workload::PreparedCall& call, workload::CacheState cache, int threads) override;
  void TearDown() override { cache_ = {}; }
  std::function<void()> BeforeCall() const override;
  std::function<std::optional<double>()> EnergyCounter() const override;
  std::int64_t CallsOfPart(const workload::PreparedCall&) const override { return 1; }
  TimedLoop Time(benchmark::State& state, const workload::PreparedCall& call,
                 std::int64_t) override;
  void Recover(const std::string& name) override;
  bool CountsLast() const override { return true; }

 private:
  bool IsAttempt(std::int64_t iterations, double gpu_seconds, double host_seconds);

  std::function<gpu::GpuClock()> open_;
  std::optional<double> min_seconds_;
  std::optional<gpu::GpuClock> clock_;  // absent until Open
  GpuCacheState cache_;                 // before each call
  std::int64_t iterations_ = 0;         // in the call's last repetition
  std::string lost_;                    // why the GPU is lost to this process; empty: it is not
};

}  // namespace dlroof::timing
