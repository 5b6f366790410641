#include "bench/runner/timer.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "counters/base/keys.h"

namespace dlroof::runner {
namespace {

constexpr double kFirstPause = 2e-3, kMaxPause = 0.1;  // [s]

bool IsKnownWell(const std::vector<record::Repetition>& done, const StoppingRule& rule) {
  const auto timing = record::Summarize(done);
  if (!timing || timing->clean < rule.repetitions) return false;
  if (!timing->ci95 || !(timing->median > 0))
    return true;  // too few repetitions for a confidence interval
  return (timing->ci95->second - timing->ci95->first) / 2 <= rule.max_noise * timing->median;
}

// [s] Duration of a part of a repetition, shorter than a time slice; shortest assumed call.
constexpr double kPartSeconds = 1e-3, kMinSeconds = 1e-8;
// [s] Duration of a part of a repetition of cold calls, whose clocks are read around each call.
// Shorter parts are too inaccurate; longer parts of several threads are rarely clean.
constexpr double kColdPartSeconds = 1e-4;

// [1] If process CPU time / thread CPU time is at most this, no other thread ran. (Above 1 because
// the two clocks are read one after the other.)
constexpr double kOneThreadShare = 1.01;

bool IsNoisy(const record::Repetition& repetition) {
  std::vector<record::Repetition> judged = {repetition};
  record::MarkNoisy(judged);
  return judged.front().noisy;
}

// Wakes the worker threads of all libraries.
void Gather() {
  for (const auto& library : workload::AllLibraries()) library.on_threads([](int) {});
}

// Calls `part` once per `calls` iterations of Google Benchmark's loop. Finishes the loop even if
// `part` throws, because all repetitions of a benchmark must have the same number of iterations.
void ForEachPart(benchmark::State& state, std::int64_t calls, const std::function<void()>& part) {
  std::exception_ptr error;
  while (state.KeepRunningBatch(calls)) try {
      if (!error) part();
    } catch (...) {
      error = std::current_exception();
    }
  if (error) std::rethrow_exception(error);
}

void Repeat(const workload::PreparedCall& call, std::int64_t calls) {
  if (call.repeat) return call.repeat(calls);
  for (std::int64_t i = 0; i < calls; ++i) call.run();
}

record::Repetition TimeWhole(benchmark::State& state, const workload::PreparedCall& call,
                             std::int64_t calls) {
  // Reads the wall clock inside SpentBy's readings: if the thread's time slice ends in one of their
  // system calls, its wait does not count.
  std::optional<double> begin;
  double end = 0;
  const auto spent = cpu::SpentBy([] {},
                                  [&] {
                                    ForEachPart(state, calls, [&] {
                                      if (!begin) begin = cpu::WallSeconds();
                                      Repeat(call, calls);
                                      end = cpu::WallSeconds();
                                    });
                                  });
  const auto iterations = static_cast<double>(state.iterations());
  auto repetition = RepetitionOf(spent, iterations);
  if (begin) repetition.seconds = (end - *begin) / iterations;
  return repetition;
}

record::Repetition TimeParts(benchmark::State& state, const workload::PreparedCall& call,
                             std::int64_t calls) {
  std::vector<cpu::ClockReading> parts;
  ForEachPart(state, calls, [&] {
    Gather();
    parts.push_back(cpu::SpentBy([] {}, [&] { Repeat(call, calls); }));
  });
  return RepetitionOfParts(parts, static_cast<double>(calls));
}

// Times each call individually, after its memory was flushed from the caches and the libraries'
// threads were woken. With `in_parts`, noisy calls do not count.
TimedLoop TimeCold(benchmark::State& state, const std::function<void()>& run,
                   const std::vector<cpu::MemorySpan>& evicted, bool in_parts) {
  std::vector<cpu::ClockReading> calls;
  std::int64_t evicted_bytes = 0;
  for (auto _ : state) {
    evicted_bytes = cpu::Evict(evicted);
    const cpu::ClockReading spent = cpu::SpentBy(Gather, run);
    state.SetIterationTime(spent.wall);
    calls.push_back(spent);
  }
  return {.repetition = RepetitionOfCalls(calls, in_parts),
          .evicted_bytes = static_cast<double>(evicted_bytes)};
}

// Returns the memory to flush before a cold call: all of the call's tensors, or only its weights.
std::vector<cpu::MemorySpan> EvictedSpans(const workload::PreparedCall& call,
                                          workload::CacheState cache) {
  std::vector<cpu::MemorySpan> spans;
  for (const auto& region : call.memory)
    if (cache == workload::CacheState::kCold || region.weights)
      spans.push_back({region.begin, region.bytes});
  if (spans.empty())
    throw Unsupported("{}: the addresses of this call's {} are not known", workload::Key(cache),
                      cache == workload::CacheState::kCold ? "tensors" : "weights");
  return spans;
}

}  // namespace

NextRepetition NextAfter(const std::vector<record::Repetition>& done, double spent_seconds,
                         const StoppingRule& rule) {
  const bool enough = done.size() >= static_cast<std::size_t>(rule.repetitions);
  if (enough && (spent_seconds >= rule.max_seconds || IsKnownWell(done, rule))) return {false, 0};
  const auto last_clean = std::find_if(done.rbegin(), done.rend(),
                                       [](const auto& repetition) { return !repetition.noisy; });
  const auto in_a_row = std::distance(done.rbegin(), last_clean);
  if (in_a_row == 0) return {true, 0};
  const double doubled = kFirstPause * std::exp2(static_cast<double>(in_a_row - 1));
  return {true, std::min(doubled, kMaxPause)};
}

record::Repetition RepetitionOf(const cpu::ClockReading& spent, double iterations) {
  record::Repetition repetition;
  repetition.iterations = iterations;
  repetition.seconds = spent.wall / iterations;
  repetition.cpu_seconds = spent.process_cpu / iterations;
  repetition.main_cpu_seconds = spent.thread_cpu / iterations;
  if (spent.run_delay) repetition.run_delay_seconds = *spent.run_delay / iterations;
  return repetition;
}

record::Repetition RepetitionOfTeam(const cpu::ClockReading& first, const cpu::ClockReading& others,
                                    double calls) {
  auto repetition = RepetitionOf(first + others, calls);
  repetition.seconds = first.wall / calls;
  repetition.cpu_seconds = std::exchange(repetition.main_cpu_seconds, std::nullopt);
  return repetition;
}

record::Repetition RepetitionOfParts(const std::vector<cpu::ClockReading>& parts, double calls) {
  auto each = VectorOf<record::Repetition>(
      parts, [&](const auto& part) { return RepetitionOf(part, calls); });
  record::MarkNoisy(each);
  const auto clean =
      std::count_if(each.begin(), each.end(), [](auto& part) { return !part.noisy; });
  cpu::ClockReading sum;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (clean == 0 || !each[i].noisy) sum = sum + parts[i];
  const double counted = calls * static_cast<double>(clean == 0 ? parts.size() : clean);
  auto repetition = RepetitionOf(sum, counted);
  repetition.iterations = calls * static_cast<double>(parts.size());
  repetition.clean_calls = counted;
  if (sum.process_cpu > kOneThreadShare * sum.thread_cpu) repetition.cpu_seconds.reset();
  return repetition;
}

record::Repetition RepetitionOfCalls(const std::vector<cpu::ClockReading>& calls, bool in_parts) {
  cpu::ClockReading all;
  double fastest = kColdPartSeconds;
  for (const auto& call : calls) {
    all = all + call;
    fastest = std::min(fastest, call.wall);
  }
  const auto per_part =
      static_cast<std::size_t>(std::ceil(kColdPartSeconds / std::max(fastest, kMinSeconds)));
  if (!in_parts || calls.size() < per_part)
    return RepetitionOf(all, static_cast<double>(calls.size()));
  std::vector<cpu::ClockReading> parts(calls.size() / per_part);
  for (std::size_t i = 0; i < parts.size() * per_part; ++i)
    parts[i / per_part] = parts[i / per_part] + calls[i];
  auto repetition = RepetitionOfParts(parts, static_cast<double>(per_part));
  repetition.iterations = static_cast<double>(calls.size());
  return repetition;
}

int CpuTimer::Threads(const workload::Workload& workload, int threads_of_run) const {
  return workload.threads.value_or(threads_of_run);
}

void CpuTimer::SetUp(const workload::PreparedCall& call, workload::CacheState cache, int threads) {
  threads_ = call.threads.value_or(threads);
  evicted_ = cache == workload::CacheState::kWarm ? std::vector<cpu::MemorySpan>()
                                                  : EvictedSpans(call, cache);
  in_parts_ = false;
}

std::function<void()> CpuTimer::BeforeCall() const {
  if (evicted_.empty()) return {};
  return [this] { cpu::Evict(evicted_); };
}

std::int64_t CpuTimer::CallsPerPart(const workload::PreparedCall& call) const {
  constexpr int kTries = 5;
  if (interleaved_ || !evicted_.empty()) return 1;
  double fastest = kPartSeconds;
  for (int i = 0; i < kTries; ++i) fastest = std::min(fastest, cpu::SpentBy([] {}, call.run).wall);
  return static_cast<std::int64_t>(std::ceil(kPartSeconds / std::max(fastest, kMinSeconds)));
}

TimedLoop CpuTimer::Time(benchmark::State& state, const workload::PreparedCall& call,
                         std::int64_t calls_per_part) {
  const auto before = Look();
  // A repetition of warm calls is longer than a scheduler's time slice, so on a busy CPU every one
  // may be noisy. After a noisy one, times short parts and uses the clean parts.
  auto timed = !evicted_.empty() ? TimeCold(state, call.run, evicted_, in_parts_)
               : in_parts_       ? TimedLoop{TimeParts(state, call, calls_per_part)}
                                 : TimedLoop{TimeWhole(state, call, calls_per_part)};
  if (!in_parts_) in_parts_ = IsNoisy(timed.repetition) && !every_call_counts_;
  const auto after = Look();
  if (!shares_.contains(threads_))
    shares_.emplace(threads_, best_state_ ? best_state_(threads_) : cpu::TeamState{});
  const auto shares = shares_.at(threads_).OfLower(before, after);
  timed.repetition.core_share = shares.core;
  timed.repetition.link_share = shares.link;
  return timed;
}

// Measures the state (issue rate, round trip) of the cores on which the call's threads run.
cpu::TeamState CpuTimer::Look() const {
  if (interleaved_) return {};
  cpu::TeamLook look(threads_);
  if (threads_ == 1) {
    look.Measure(0);
  } else {
    for (const auto& library : workload::AllLibraries())
      library.on_threads([&](int thread) { look.Measure(thread); });
  }
  return look.State();
}

}  // namespace dlroof::runner
