// Times calls on a CPU: warm in a bare loop, cold one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "bench/run/timer.h"
#include "counters/cpu/cache_eviction.h"
#include "counters/cpu/issue_rate.h"

namespace dlroof {

class CpuTimer : public Timer {
 public:
  // [1/cycle] the highest known issue rate of the machine's core, of which a single thread's share
  // is taken. A team's is taken of the best that it was seen to have, because two of its threads
  // may share a core.
  using IssueRate = std::function<std::optional<double>()>;

  // Calls `issue_rate`, which may be empty, when the first benchmark runs. Two interleaved programs
  // have the same neighbours, so their core share is not measured.
  CpuTimer(IssueRate issue_rate, bool interleaved)
      : issue_rate_(std::move(issue_rate)), interleaved_(interleaved) {}

  int Threads(const Workload& workload, int threads_of_run) const override;
  void Open() override {}
  void SetUp(const PreparedCall& call, CacheState cache, int threads) override;
  void TearDown() override { evicted_.clear(); }
  std::function<void()> BeforeCall() const override;
  TimedLoop Time(benchmark::State& state, const PreparedCall& call) override;
  void Recover(const std::string&) override {}
  bool CountsLast() const override { return false; }

 private:
  std::optional<double> MeasureTeam() const;

  IssueRate issue_rate_;
  bool interleaved_;
  int threads_ = 1;
  std::vector<MemorySpan> evicted_;  // before each call; empty: the call is warm
  std::map<int, CoreShare> cores_;   // by number of threads
};

}  // namespace dlroof
