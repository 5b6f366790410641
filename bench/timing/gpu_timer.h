// Times calls on a GPU. Measures three times of a call separately:
//   seconds              one call on an idle GPU, including its launch (Google Benchmark's loop)
//   throughput_seconds   one call of a batch whose calls are all queued before the GPU starts
//   graph_seconds        one call of a CUDA graph, which launches several calls together
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

// Returns how many calls of `seconds` each fill `target_seconds`: at least 1 and at most `most`.
// Returns `most` if `seconds` is 0.
int CallsToFill(double seconds, double target_seconds, int most);

// How memory and the L2 cache are prepared before each call.
struct GpuCacheState {
  bool flush = false;                           // flush L2
  std::vector<workload::MemoryRegion> touched;  // read into L2 after the flush
  std::function<void()> renew;                  // runs before the flush; may be empty
};

// Returns how to prepare the GPU for a call in the cache state `cache`. Throws Unsupported for cold
// weights if the call does not name its weights.
GpuCacheState GpuCacheOf(const workload::PreparedCall& call, workload::CacheState cache);

// Runs `renew`, flushes L2 and reads the touched memory, as `cache` requests.
void MakeReady(const gpu::GpuClock& clock, const GpuCacheState& cache);

// Prepares memory and L2, runs the call once, and returns its time including the launch. [s]
double TimeOnce(const gpu::GpuClock& clock, const gpu::Enqueue& call, const GpuCacheState& cache);

struct SampledGpu {
  record::GpuSample sample;
  // Why throughput_seconds or graph_seconds is absent: no graph can be captured, or the GPU started
  // before all calls were queued.
  std::optional<Reason> reason;
};

// Measures throughput_seconds and graph_seconds, each a median, of a call that takes `seconds`, and
// the GPU's clock and health under load. Measures neither time of a cold call, because back-to-back
// calls are warm. `renew` runs before each batch and each replay of the graph; later calls of a
// batch do the same work on data that the first call has consumed. Throws if the GPU fails.
SampledGpu SampleGpu(const gpu::GpuClock& clock, const gpu::Enqueue& call, double seconds,
                     const GpuCacheState& cache);

class GpuTimer : public Timer {
 public:
  // `open` is called before the first GPU benchmark; it may be empty. `min_seconds` is Google
  // Benchmark's minimum time of a repetition. [s]
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
  GpuCacheState cache_;                 // how to prepare each call
  std::int64_t iterations_ = 0;         // of the call's last repetition
  std::optional<Reason> lost_;          // why the GPU cannot be used any more
};

}  // namespace dlroof::timing
