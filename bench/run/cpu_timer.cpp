#include "bench/run/cpu_timer.h"

#include <fmt/format.h>

#include <algorithm>

#include "reporters/record/work_counters.h"

namespace dlroof {
namespace {

Repetition TimeWarm(benchmark::State& state, const std::function<void()>& run) {
  const ClockReading begin = ReadClocks();
  for (auto _ : state) run();
  return RepetitionOf(ReadClocks() - begin, static_cast<double>(state.iterations()));
}

// Times each call by itself, after its memory left the caches and the libraries' threads gathered.
Repetition TimeCold(benchmark::State& state, const std::function<void()>& run,
                    const std::vector<MemorySpan>& evicted) {
  const auto gather = [] {
    for (const auto& library : AllLibraries()) library.on_threads([](int) {});
  };
  ClockReading all = {};
  std::int64_t evicted_bytes = 0;
  for (auto _ : state) {
    evicted_bytes = Evict(evicted);
    const ClockReading spent = SpentBy(gather, run);
    state.SetIterationTime(spent.wall);
    all.wall += spent.wall;
    all.thread_cpu += spent.thread_cpu;
    all.process_cpu += spent.process_cpu;
    if (spent.run_delay) all.run_delay = all.run_delay.value_or(0) + *spent.run_delay;
  }
  const auto repetition = RepetitionOf(all, static_cast<double>(state.iterations()));
  // Google Benchmark's own CPU time includes the eviction.
  state.counters[kMainCpuSecondsCounter] = *repetition.main_cpu_seconds;
  state.counters[kEvictedBytesCounter] = static_cast<double>(evicted_bytes);
  return repetition;
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

Repetition RepetitionOf(const ClockReading& spent, double iterations) {
  Repetition repetition;
  repetition.iterations = iterations;
  repetition.seconds = spent.wall / iterations;
  repetition.cpu_seconds = spent.process_cpu / iterations;
  repetition.main_cpu_seconds = spent.thread_cpu / iterations;
  if (spent.run_delay) repetition.run_delay_seconds = *spent.run_delay / iterations;
  return repetition;
}

int CpuTimer::Threads(const Workload& workload, int threads_of_run) const {
  return workload.threads > 0 ? workload.threads : threads_of_run;
}

void CpuTimer::SetUp(const PreparedCall& call, CacheState cache, int threads) {
  threads_ = call.threads > 0 ? call.threads : threads;
  evicted_ = cache == CacheState::kWarm ? std::vector<MemorySpan>() : EvictedSpans(call, cache);
}

std::function<void()> CpuTimer::BeforeCall() const {
  if (evicted_.empty()) return {};
  return [this] { Evict(evicted_); };
}

TimedLoop CpuTimer::Time(benchmark::State& state, const PreparedCall& call) {
  const auto before = MeasureTeam();
  TimedLoop timed;
  timed.repetition =
      evicted_.empty() ? TimeWarm(state, call.run) : TimeCold(state, call.run, evicted_);
  const auto after = MeasureTeam();
  if (!cores_.contains(threads_))
    cores_.emplace(threads_, threads_ == 1 && issue_rate_ ? issue_rate_() : std::nullopt);
  timed.repetition.core_share = cores_.at(threads_).OfLower(before, after);
  return timed;
}

// [1/cycle] Returns the issue rate of the slowest of the call's threads.
std::optional<double> CpuTimer::MeasureTeam() const {
  if (interleaved_) return std::nullopt;
  if (threads_ == 1) return MeasureIssueRate();
  TeamLook look(threads_);
  for (const auto& library : AllLibraries())
    library.on_threads([&](int thread) { look.Measure(thread); });
  return look.Rate();
}

}  // namespace dlroof
