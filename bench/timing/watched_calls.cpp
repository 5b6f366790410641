#include "bench/timing/watched_calls.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <system_error>
#include <tuple>
#include <utility>

#include "bench/timing/timer.h"
#include "counters/base/error.h"
#include "counters/base/numbers.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/core_caches.h"
#include "counters/instructions/instruction_count.h"

namespace dlroof::timing {
namespace {

constexpr int kTries = 7;
constexpr double kTrySeconds = 2e-3;
// Interleaved tries of two calls end after this time, but after at least three of each.
constexpr double kInterleavedSeconds = 4;
constexpr int kFewestInterleaved = 3;

// Returns the indices of the clean repetitions, or of the quarter with the least run delay if none
// is clean.
std::vector<std::size_t> Clean(std::vector<record::Repetition> repetitions) {
  record::MarkNoisy(repetitions);
  std::vector<std::size_t> chosen, all;
  for (std::size_t i = 0; i < repetitions.size(); ++i) {
    all.push_back(i);
    if (!repetitions[i].noisy) chosen.push_back(i);
  }
  if (!chosen.empty()) return chosen;
  std::ranges::stable_sort(all, {}, [&](std::size_t i) {
    return repetitions[i].run_delay_seconds.value_or(0) / repetitions[i].seconds;
  });
  all.resize((all.size() + 3) / 4);
  return all;
}

RegionPass PerCall(const record::Repetition& repetition, RegionSums sums) {
  for (double* sum : {&sums.regions, &sums.seconds, &sums.longest_seconds, &sums.busy_seconds})
    *sum /= repetition.iterations;
  return {repetition.seconds, sums, repetition.run_delay_seconds};
}

// All passes make the same number of calls. Sums are divided once, so that whole numbers stay
// whole.
RegionPass MeanOf(const std::vector<RegionPass>& passes) {
  RegionPass mean;
  for (const auto& pass : passes) {
    mean.seconds += pass.seconds;
    mean.regions.regions += pass.regions.regions;
    mean.regions.seconds += pass.regions.seconds;
    mean.regions.longest_seconds += pass.regions.longest_seconds;
    mean.regions.busy_seconds += pass.regions.busy_seconds;
    if (pass.run_delay_seconds)
      mean.run_delay_seconds = mean.run_delay_seconds.value_or(0) + *pass.run_delay_seconds;
  }
  auto& sums = mean.regions;
  for (double* sum :
       {&mean.seconds, &sums.regions, &sums.seconds, &sums.longest_seconds, &sums.busy_seconds})
    *sum /= static_cast<double>(passes.size());
  if (mean.run_delay_seconds) *mean.run_delay_seconds /= static_cast<double>(passes.size());
  return mean;
}

cpu::ClockReading SpentInCalls(const workload::PreparedCall& call, std::int64_t calls,
                               const std::function<void()>& ready) {
  return cpu::SpentBy(ready, [&] {
    for (std::int64_t i = 0; i < calls; ++i) call.run();
  });
}

// Returns the number of calls that take kTrySeconds.
std::int64_t CallsOfTry(const workload::PreparedCall& call) {
  call.run();
  const double begin = cpu::WallSeconds();
  call.run();
  return std::max<std::int64_t>(
      1, std::llround(kTrySeconds / std::max(cpu::WallSeconds() - begin, 1e-8)));
}

// Repeated timings (tries) of a call.
struct Tries {
  explicit Tries(const workload::PreparedCall& tried) : call(tried), calls(CallsOfTry(tried)) {}

  void Add() {
    made.push_back(RepetitionOf(SpentInCalls(call, calls, [] {}), static_cast<double>(calls)));
  }
  // Returns the median over the clean tries of the time of a call. [s]
  double Seconds() const {
    std::vector<double> seconds;
    for (const auto i : Clean(made)) seconds.push_back(made[i].seconds);
    return Median(seconds);
  }

  const workload::PreparedCall& call;
  std::int64_t calls;
  std::vector<record::Repetition> made = {};
};

double SecondsOf(const workload::PreparedCall& call) {
  Tries tries(call);
  for (int i = 0; i < kTries; ++i) tries.Add();
  return tries.Seconds();
}

// Times two calls in interleaved tries, so that interference hits both. [s]
std::pair<double, double> SecondsInterleaved(const workload::PreparedCall& one,
                                             const workload::PreparedCall& other) {
  Tries of_one(one), of_other(other);
  const double begin = cpu::WallSeconds();
  for (int i = 0; i < kTries; ++i) {
    if (i >= kFewestInterleaved && cpu::WallSeconds() - begin > kInterleavedSeconds) break;
    of_one.Add();
    of_other.Add();
  }
  return {of_one.Seconds(), of_other.Seconds()};
}

// Returns the share of a core's private L2 that tensors may fill, if CPUID describes L2: three
// quarters, the rest is for the library's other memory. [byte]
std::optional<double> NearBytes() {
  const auto caches = cpu::CoreCaches();
  const auto l2 = caches.find(Level::kL2);
  if (l2 == caches.end()) return std::nullopt;
  return 0.75 * l2->second;
}

using NearAndFar = std::pair<std::optional<double>, std::optional<double>>;

// Returns the time of the call with its tensors folded into L2, and with distinct tensors; nothing
// if this machine lacks the memory for copies. [s]
NearAndFar NearAndFarSeconds(const workload::PreparedCall& call) {
  const auto near_bytes = NearBytes();
  if (!near_bytes || !call.explain.folded) return {};
  try {
    return SecondsInterleaved(call.explain.folded(*near_bytes),
                              call.explain.folded(std::numeric_limits<double>::infinity()));
  } catch (const Unsupported&) {
  } catch (const std::system_error&) {
  }
  return {};
}

}  // namespace

void WatchedCalls::Add(const workload::PreparedCall& call, int threads, std::int64_t calls) {
  for (const auto& library : workload::AllLibraries())
    library.on_threads([](int) {});  // starts the threading runtimes
  unwatched_reason_ = NoRegionsReason(AllRegionSources());
  if (unwatched_reason_) return;
  RegionWatch watch(AllRegionSources());
  const auto spent = SpentInCalls(call, calls, [&] { watch.Begin(); });
  const auto watched = watch.End();
  if (!watched) {
    unwatched_reason_ = Reason{"a parallel region had more threads than can be profiled"};
    return;
  }
  Pass pass;
  pass.sums = watched->seen.sums;
  pass.source = watched->source;
  pass.threads = std::max(watched->seen.widest_team, call.threads.value_or(threads));
  pass.repetition = RepetitionOf(spent, static_cast<double>(calls));
  passes_.push_back(pass);
  algorithm_ = call.algorithm;
  executed_over_useful_ = call.explain.executed_over_useful;
  if (call.levels.core_loads > 0) {
    vector_loads_ = call.levels.core_loads;
    vector_bytes_ = call.levels.vector_bytes;
  }
}

void WatchedCalls::AddSingleThreaded(const workload::PreparedCall& call, double step_seconds) {
  if (passes_.empty()) return;
  single_thread_algorithm_ = call.algorithm;
  single_thread_seconds_ = SecondsOf(call);
  if (call.explain.parts) parts_ = call.explain.parts(step_seconds);
  if (const auto counted = instructions::CountInstructions(call.run, step_seconds); counted.count)
    SetInstructions(*counted.count);
  else if (step_seconds > 0)
    instructions_reason_ = counted.reason;
  if (call.explain.smallest)
    if (const auto smallest = call.explain.smallest(); smallest.algorithm == call.algorithm) {
      smallest_seconds_ = SecondsOf(smallest);
      if (const auto counted = instructions::CountInstructions(smallest.run, step_seconds).count)
        smallest_instructions_ = counted->all;
    }
  std::tie(near_seconds_, far_seconds_) = NearAndFarSeconds(call);
}

void WatchedCalls::AddInstructionsReason(const std::string& reason) {
  instructions_reason_ =
      Reason{instructions_reason_ ? instructions_reason_->text + "; " + reason : reason};
}

void WatchedCalls::SetInstructions(const InstructionCount& count) {
  instructions_ = count;
  instructions_->per_second = instructions::MeasureInstructionRate();
}

std::optional<ParallelTime> WatchedCalls::Mean() const {
  std::vector<record::Repetition> each;
  for (const auto& pass : passes_) each.push_back(pass.repetition);
  ParallelTime time;
  for (const auto i : Clean(each)) {
    const auto& [repetition, sums, threads, source] = passes_[i];
    time.source = source;
    time.passes.push_back(PerCall(repetition, sums));
    time.calls += repetition.iterations;
    time.threads = std::max(time.threads, threads);
  }
  if (time.passes.empty()) return std::nullopt;
  time.mean = MeanOf(time.passes);
  time.executed_over_useful = executed_over_useful_;
  time.vector_loads = vector_loads_;
  time.vector_bytes = vector_bytes_;
  if (algorithm_ == single_thread_algorithm_) {
    if (time.threads > 1) time.single_thread_seconds = single_thread_seconds_;
    time.parts = parts_;
    time.smallest_seconds = smallest_seconds_;
    time.near_seconds = near_seconds_;
    time.far_seconds = far_seconds_;
    time.instructions = instructions_;
    if (time.instructions) time.instructions->smallest = smallest_instructions_;
    if (!time.instructions) time.instructions_reason = instructions_reason_;
  }
  return time;
}

}  // namespace dlroof::timing
