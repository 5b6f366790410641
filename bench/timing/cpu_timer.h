// Times calls on a CPU: warm in a bare loop, cold one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "bench/timing/timer.h"
#include "counters/cpu/core_caches.h"
#include "counters/cpu/team_look.h"

namespace dlroof::timing {

class CpuTimer : public Timer {
 public:
  // Calls `best_state`, which may be empty, when the first benchmark of so many threads runs. Two
  // interleaved programs have the same neighbours, so their cores are not looked at. With
  // `keep_noisy` every call counts.
  CpuTimer(std::function<cpu::TeamState(int threads)> best_state, bool interleaved, bool keep_noisy)
      : best_state_(std::move(best_state)),
        interleaved_(interleaved),
        every_call_counts_(interleaved || keep_noisy) {}

  int Threads(const workload::Workload& workload, int threads_of_run) const override;
  void Open() override {}
  void SetUp(const workload::PreparedCall& call, workload::CacheState cache, int threads) override;
  void TearDown() override { evicted_.clear(); }
  std::function<void()> BeforeCall() const override;
  std::int64_t CallsOfPart(const workload::PreparedCall& call) const override;
  TimedLoop Time(benchmark::State& state, const workload::PreparedCall& call,
                 std::int64_t calls_of_part) override;
  void Recover(const std::string&) override {}
  bool CountsLast() const override { return false; }

 private:
  cpu::TeamState Look() const;
  record::Repetition TimeWarm(benchmark::State& state, const workload::PreparedCall& call,
                              std::int64_t calls);

  std::function<cpu::TeamState(int threads)> best_state_;
  bool interleaved_, every_call_counts_;
  int threads_ = 1;
  bool in_parts_ = false;                    // because other programs noisy the repetition before
  std::vector<cpu::MemorySpan> evicted_;     // before each call; empty: the call is warm
  std::map<int, cpu::SharesOfBest> shares_;  // by number of threads
};

}  // namespace dlroof::timing
