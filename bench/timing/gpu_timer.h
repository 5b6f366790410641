// Times calls on a GPU. Three times are measured separately:
//
//   seconds              of one call on an idle GPU, with its launch (Google Benchmark's loop)
//   throughput_seconds   of calls back to back, all launched before the first begins
//   graph_seconds        of calls replayed as nodes of one CUDA graph, which share its launch
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/timing/timer.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/gpu/clock.h"
#include "reporters/record/record.h"

namespace dlroof::timing {

// Returns the number of calls of `seconds` each that fill `target_seconds`: at least 1, at most
// `most`, also for calls of 0 s.
int CallsToFill(double seconds, double target_seconds, int most);

// The state of memory and L2 before a call.
struct GpuCacheState {
  bool flush = false;                           // flush L2 before each call
  std::vector<workload::MemoryRegion> touched;  // read into L2 after the flush
  std::function<void()> renew;                  // PreparedCall::renew, which runs before both
};

// Returns the state for `cache`. Throws Unsupported for cold weights if the call does not name its
// weights.
GpuCacheState GpuCacheOf(const workload::PreparedCall& call, workload::CacheState cache);

// Establishes the state. Does nothing for a warm call without `renew`.
void MakeReady(const gpu::GpuClock& clock, const GpuCacheState& cache);

// Returns the `seconds` of one call. [s]
double TimeOnce(const gpu::GpuClock& clock, const gpu::Enqueue& call, const GpuCacheState& cache);

struct SampledGpu {
  record::GpuSample sample;
  // Why a time is absent: the graph cannot be captured, or the GPU began before all were launched.
  std::optional<Reason> reason;
};

// Measures the other two times of a call of `seconds`, each a median, and the GPU's clock and
// health under load. A cold call has neither time, because calls back to back are warm. `renew`
// runs before each batch and each replay; later calls of a batch do the same work on consumed data.
// Throws if the GPU fails.
SampledGpu SampleGpu(const gpu::GpuClock& clock, const gpu::Enqueue& call, double seconds,
                     const GpuCacheState& cache);

class GpuTimer : public Timer {
 public:
  // `open`, which may be empty, is called when the first GPU benchmark is about to run.
  // `min_seconds` [s] is Google Benchmark's least time of a repetition.
  GpuTimer(std::function<gpu::GpuClock()> open, std::optional<double> min_seconds)
      : open_(std::move(open)), min_seconds_(min_seconds) {}

  int Threads(const workload::Workload& workload, int threads_of_run) const override;
  void Open() override;
  void SetUp(const workload::PreparedCall& call, workload::CacheState cache, int threads) override;
  void TearDown() override { cache_ = {}; }
  std::function<void()> BeforeCall() const override;
  std::function<std::optional<double>()> EnergyCounter() const override;
  std::int64_t CallsPerPart(const workload::PreparedCall&) const override { return 1; }
  TimedLoop Time(benchmark::State& state, const workload::PreparedCall& call,
                 std::int64_t) override;
  void Recover(const std::string& name) override;
  bool CountsLast() const override { return true; }

 private:
  bool IsAttempt(std::int64_t iterations, double gpu_seconds, double host_seconds);

  std::function<gpu::GpuClock()> open_;
  std::optional<double> min_seconds_;
  std::optional<gpu::GpuClock> clock_;  // set by Open
  GpuCacheState cache_;                 // before each call
  std::int64_t iterations_ = 0;         // in the call's last repetition
  std::optional<Reason> lost_;          // why this process can no longer use the GPU
};

}  // namespace dlroof::timing
