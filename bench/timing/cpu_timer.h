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
  // `best_state`, which may be empty, returns the best known state of the cores of a team of
  // `threads` threads; it is called when the first benchmark with that number of threads runs.
  // `interleaved` runs do not probe the state of the cores, because interference hits both programs
  // alike. With `keep_noisy` no call is excluded.
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
  bool in_parts_ = false;                    // because the repetition before was noisy
  std::vector<cpu::MemorySpan> evicted_;     // flushed before each call; none for a warm call
  std::map<int, cpu::SharesOfBest> shares_;  // by number of threads
};

}  // namespace dlroof::timing
