// Times calls on a CPU: warm calls together in a loop, cold calls one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "bench/runner/timer.h"
#include "counters/cpu/core_caches.h"
#include "counters/cpu/team_look.h"

namespace dlroof::runner {

class CpuTimer : public Timer {
 public:
  // `best_state` returns the best known state of the cores on which `threads` threads run. It may
  // be empty, and is called when the first benchmark with this number of threads is timed. In
  // `interleaved` runs the state of the cores is not measured, because interference slows down both
  // programs equally. With `keep_noisy`, noisy calls are not excluded from the times.
  CpuTimer(std::function<cpu::TeamState(int threads)> best_state, bool interleaved, bool keep_noisy)
      : best_state_(std::move(best_state)),
        interleaved_(interleaved),
        every_call_counts_(interleaved || keep_noisy) {}

  int Threads(const workload::Workload& workload, int threads_of_run) const override;
  void Open() override {}
  void SetUp(const workload::PreparedCall& call, workload::CacheState cache, int threads) override;
  void TearDown() override { evicted_.clear(); }
  std::function<void()> BeforeCall() const override;
  std::int64_t CallsPerPart(const workload::PreparedCall& call) const override;
  TimedLoop Time(benchmark::State& state, const workload::PreparedCall& call,
                 std::int64_t calls_per_part) override;
  void Recover(const std::string&) override {}
  bool CountsLast() const override { return false; }

 private:
  cpu::TeamState Look() const;
  record::Repetition TimeWarm(benchmark::State& state, const workload::PreparedCall& call,
                              std::int64_t calls);

  std::function<cpu::TeamState(int threads)> best_state_;
  bool interleaved_, every_call_counts_;
  int threads_ = 1;
  bool in_parts_ = false;                    // time in parts, after a noisy repetition
  std::vector<cpu::MemorySpan> evicted_;     // flushed before each cold call
  std::map<int, cpu::SharesOfBest> shares_;  // states of the cores, by number of threads
};

}  // namespace dlroof::runner
