#include "bench/run/cpu_timer.h"

#include <fmt/format.h>

#include <algorithm>

#include "reporters/record/work_counters.h"

namespace dlroof {
namespace {

ClockReading TimeWarm(benchmark::State& state, const std::function<void()>& run) {
  const ClockReading begin = ReadClocks();
  for (auto _ : state) run();
  return ReadClocks() - begin;
}

// Times each call by itself, after its memory left the caches and the libraries' threads gathered.
ClockReading TimeCold(benchmark::State& state, const std::function<void()>& run,
                      const std::vector<MemorySpan>& evicted) {
  const auto gather = [] {
    for (const auto& library : AllLibraries()) library.gather();
  };
  ClockReading all = {};
  std::int64_t evicted_bytes = 0;
  for (auto _ : state) {
    evicted_bytes = Evict(evicted);
    const ClockReading spent = SpentBy(gather, run);
    state.SetIterationTime(spent.wall);
    all.thread_cpu += spent.thread_cpu;
    all.process_cpu += spent.process_cpu;
    if (spent.run_delay) all.run_delay = all.run_delay.value_or(0) + *spent.run_delay;
  }
  // Google Benchmark's own CPU time includes the eviction.
  state.counters[kMainCpuSecondsCounter] = all.thread_cpu / static_cast<double>(state.iterations());
  state.counters[kEvictedBytesCounter] = static_cast<double>(evicted_bytes);
  return all;
}

// Returns the memory that a cold call must not find in a cache: all of the call's, or its weights
// alone.
std::vector<MemorySpan> EvictedSpans(const PreparedCall& call, CacheState cache) {
  std::vector<MemorySpan> spans;
  for (const auto& region : call.memory)
    if (cache == CacheState::kCold || region.weights) spans.push_back({region.begin, region.bytes});
  if (spans.empty())
    throw Unsupported(fmt::format("{}: this call does not say where its {} lie", Key(cache),
                                  cache == CacheState::kCold ? "tensors" : "weights"));
  return spans;
}

}  // namespace

int CpuTimer::Threads(const Workload& workload, int threads_of_run) const {
  return workload.threads > 0 ? workload.threads : threads_of_run;
}

void CpuTimer::SetUp(const PreparedCall& call, CacheState cache, int threads) {
  threads_ = threads;
  evicted_ = cache == CacheState::kWarm ? std::vector<MemorySpan>() : EvictedSpans(call, cache);
}

std::function<void()> CpuTimer::BeforeCall() const {
  if (evicted_.empty()) return {};
  return [this] { Evict(evicted_); };
}

TimedLoop CpuTimer::Time(benchmark::State& state, const PreparedCall& call) {
  const auto before = MeasureCoreShare();
  TimedLoop timed;
  timed.spent = evicted_.empty() ? TimeWarm(state, call.run) : TimeCold(state, call.run, evicted_);
  if (const auto after = MeasureCoreShare())
    state.counters[kCoreShareCounter] = std::min(before.value_or(*after), *after);
  return timed;
}

// Absent for several threads, because two of them may share a core.
std::optional<double> CpuTimer::MeasureCoreShare() {
  if (threads_ != 1 || interleaved_) return std::nullopt;
  if (!core_) core_.emplace(issue_rate_ ? issue_rate_() : std::nullopt);
  const auto rate = MeasureIssueRate();
  return rate ? std::optional(core_->Of(*rate)) : std::nullopt;
}

}  // namespace dlroof
