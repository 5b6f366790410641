// Times calls on a GPU: each on an idle GPU in Google Benchmark's loop, then back to back and as a
// graph.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "bench/timing/gpu_timing.h"
#include "bench/timing/timer.h"

namespace dlroof {

class GpuTimer : public Timer {
 public:
  // Calls `open`, which may be empty, when the first benchmark of a GPU is about to run.
  // `min_seconds` [s] is the least time of a repetition that Google Benchmark keeps; absent: not
  // known.
  GpuTimer(std::function<GpuClock()> open, std::optional<double> min_seconds)
      : open_(std::move(open)), min_seconds_(min_seconds) {}

  int Threads(const Workload& workload, int threads_of_run) const override;
  void Open() override;
  void SetUp(const PreparedCall& call, CacheState cache, int threads) override;
  void TearDown() override { cache_ = {}; }
  std::function<void()> BeforeCall() const override;
  std::function<std::optional<double>()> EnergyCounter() const override;
  std::int64_t CallsOfPart(const PreparedCall&) const override { return 1; }
  TimedLoop Time(benchmark::State& state, const PreparedCall& call, std::int64_t) override;
  void Recover(const std::string& name) override;
  bool CountsLast() const override { return true; }

 private:
  bool IsAttempt(std::int64_t iterations, double gpu_seconds, double host_seconds);

  std::function<GpuClock()> open_;
  std::optional<double> min_seconds_;
  std::optional<GpuClock> clock_;  // absent until Open
  GpuCacheState cache_;            // before each call
  std::int64_t iterations_ = 0;    // in the call's last repetition
  std::string lost_;               // why the GPU is lost to this process; empty: it is not
};

}  // namespace dlroof
