#include "bench/runner/explain_pass.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>
#include <tuple>
#include <utility>

#include "bench/runner/timer.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "counters/cpu/cpu.h"
#include "counters/perf/perf_events.h"

namespace dlroof::runner {
namespace {

// [1] CPU time of the pass / limit of the benchmark. On a quiet machine the benchmark then takes
// half of its limit; if other programs use half of the CPUs' time, it takes the whole limit.
constexpr double kCpuShare = 0.4;

constexpr std::size_t kTries = 7;
constexpr double kTrySeconds = 2e-3;
// [s] Limits of CPU time in AddSingleThreaded, for the call and for the call with all sizes 1.
constexpr double kCallSeconds = 2, kSmallestCallSeconds = 1;
// [s] SecondsInterleaved stops after this CPU time if it has timed both calls kMinInterleaved
// times, or when the whole budget is spent if it has timed both calls once.
constexpr double kInterleavedSeconds = 4;
constexpr std::size_t kMinInterleaved = 3;

// Returns the indices of the clean repetitions or, if all are noisy, of the quarter in which
// threads waited for a CPU (run delay) for the smallest share of the time.
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

constexpr double RegionSums::*kSums[] = {&RegionSums::regions, &RegionSums::seconds,
                                         &RegionSums::longest_seconds, &RegionSums::busy_seconds};

RegionPass PerCall(const record::Repetition& repetition, RegionSums sums) {
  for (const auto sum : kSums) sums.*sum /= repetition.iterations;
  return {repetition.seconds, sums, repetition.run_delay_seconds};
}

// Returns the mean of passes of equally many calls. Divides sums once: whole numbers stay whole.
RegionPass MeanOf(const std::vector<RegionPass>& passes) {
  RegionPass mean;
  for (const auto& pass : passes) {
    mean.seconds += pass.seconds;
    for (const auto sum : kSums) mean.regions.*sum += pass.regions.*sum;
    if (pass.run_delay_seconds)
      mean.run_delay_seconds = mean.run_delay_seconds.value_or(0) + *pass.run_delay_seconds;
  }
  const auto count = static_cast<double>(passes.size());
  mean.seconds /= count;
  for (const auto sum : kSums) mean.regions.*sum /= count;
  if (mean.run_delay_seconds) *mean.run_delay_seconds /= count;
  return mean;
}

cpu::ClockReading SpentInCalls(const workload::PreparedCall& call, std::int64_t calls,
                               const std::function<void()>& ready) {
  return cpu::SpentBy(ready, [&] {
    for (std::int64_t i = 0; i < calls; ++i) call.run();
  });
}

class Tries {
 public:
  // Finds how many calls take kTrySeconds. If one call takes longer, it is the first timing.
  explicit Tries(const workload::PreparedCall& tried) : call_(tried) {
    call_.run();
    Add();
    calls_ = std::max<std::int64_t>(
        1, std::llround(kTrySeconds / std::max(made_.front().seconds, 1e-8)));
    if (calls_ > 1) made_.clear();
  }

  void Add() {
    made_.push_back(RepetitionOf(SpentInCalls(call_, calls_, [] {}), static_cast<double>(calls_)));
  }
  std::size_t Made() const { return made_.size(); }
  // Returns the time of a call [s]: the median over the clean timings.
  double Seconds() const {
    std::vector<double> seconds;
    for (const auto i : Clean(made_)) seconds.push_back(made_[i].seconds);
    return Median(seconds);
  }

 private:
  const workload::PreparedCall& call_;
  std::int64_t calls_ = 1;
  std::vector<record::Repetition> made_ = {};
};

double SecondsOf(const workload::PreparedCall& call, const cpu::Budget& budget) {
  Tries tries(call);
  while (tries.Made() == 0 || (tries.Made() < kTries && !budget.IsSpent())) tries.Add();
  return tries.Seconds();
}

// Returns the times [s] of two calls, timed alternately so that interference affects both.
std::pair<double, double> SecondsInterleaved(const workload::PreparedCall& first,
                                             const workload::PreparedCall& second,
                                             const cpu::Budget& budget) {
  const auto part = budget.Part(kInterleavedSeconds);
  Tries of_first(first), of_second(second);
  for (std::size_t made = 0; made < kTries; ++made) {
    if (made >= kMinInterleaved && part.IsSpent()) break;
    if (of_first.Made() > 0 && of_second.Made() > 0 && budget.IsSpent()) break;
    of_first.Add();
    of_second.Add();
  }
  return {of_first.Seconds(), of_second.Seconds()};
}

// Returns the size [byte] of tensors that fit a core's private L2: three quarters of L2, because
// the library needs the rest. Returns nullopt if CPUID does not describe L2.
std::optional<double> NearBytes() {
  const auto caches = cpu::CoreCaches();
  const auto* const l2 = FindValue(caches, Level::kL2);
  return l2 == nullptr ? std::nullopt : std::optional(0.75 * *l2);
}

using NearAndFar = std::pair<std::optional<double>, std::optional<double>>;

// Returns two times [s] of the call: with tensors folded so that they fit L2, and not folded. Both
// are nullopt if L2's size is not known, the backend cannot fold tensors, or memory is too small.
NearAndFar NearAndFarSeconds(const workload::PreparedCall& call, const cpu::Budget& budget) {
  const auto near_bytes = NearBytes();
  if (!near_bytes || !call.explain.folded) return {};
  try {
    return SecondsInterleaved(call.explain.folded(*near_bytes),
                              call.explain.folded(std::numeric_limits<double>::infinity()), budget);
  } catch (const Unsupported&) {
  } catch (const std::system_error&) {
  }
  return {};
}

}  // namespace

bool IsTimedLongEnough(const ExplainOptions& options, double spent_seconds) {
  constexpr double kMaxShare = 0.6;
  return options.limit_seconds && spent_seconds > kMaxShare * *options.limit_seconds;
}

cpu::Budget ExplainBudget(const ExplainOptions& options, double spent_seconds,
                          cpu::BudgetClocks clocks) {
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  const double limit = options.limit_seconds.value_or(kEndless);
  return cpu::Budget(kCpuShare * limit, limit - spent_seconds, std::move(clocks));
}

std::string_view Words(ExplainPart part) {
  constexpr std::string_view kWords[kExplainParts] = {"on one thread", "with near and far tensors"};
  return kWords[static_cast<int>(part)];
}

ExplainProgress::ExplainProgress(const std::optional<ExplainOptions>& options, int benchmarks,
                                 std::function<double()> now)
    : benchmarks_(benchmarks), now_(std::move(now)), begin_(now_()) {
  if (!options) return;
  report_ = options->progress;
  reports_timing_ = options->reports_timing;
}

void ExplainProgress::Time(const std::string& name) {
  const int step = timed_++;
  if (reports_timing_) Report(step, "timing " + name);
}

void ExplainProgress::Explain(int index, const std::string& name, ExplainPart part) {
  Report(benchmarks_ + kExplainParts * index + static_cast<int>(part),
         fmt::format("{}, {}", name, Words(part)));
}

void ExplainProgress::End() { Report((1 + kExplainParts) * benchmarks_, "explained"); }

void ExplainProgress::Report(int step, const std::string& text) {
  constexpr double kFirstGuess = 2;  // [s] assumed time of a step until the first has ended
  if (!report_) return;
  const int steps = (1 + kExplainParts) * benchmarks_;
  const double per_step = step > 0 ? (now_() - begin_) / step : kFirstGuess;
  report_({.step = step, .steps = steps, .text = text, .eta_seconds = per_step * (steps - step)});
}

std::string ProgressLine(const machine::MeasureProgress& progress) {
  const nlohmann::json line = {{"step", progress.step},
                               {"steps", progress.steps},
                               {"text", progress.text},
                               {"eta_seconds", progress.eta_seconds}};
  return line.dump() + '\n';
}

std::optional<machine::MeasureProgress> ParseProgressLine(const std::string& line) {
  const auto read = nlohmann::json::parse(line, nullptr, false);
  try {
    return machine::MeasureProgress{.step = read.at("step"),
                                    .steps = read.at("steps"),
                                    .text = read.at("text"),
                                    .eta_seconds = read.at("eta_seconds")};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

void WriteToPipe(int pipe, const std::string& text) {
  [[maybe_unused]] const auto written = write(pipe, text.data(), text.size());
}

void WatchedCalls::Add(const workload::PreparedCall& call, int threads, std::int64_t calls) {
  for (const auto& library : workload::AllLibraries())
    library.on_threads([](int) {});  // starts the threading runtimes
  const auto& source = TheRegionSource();
  unwatched_reason_ =
      source ? source->unavailable() : Reason{"this build cannot watch any OpenMP runtime"};
  if (unwatched_reason_) return;
  const auto spent = SpentInCalls(call, calls, source->begin);
  const auto seen = source->end();
  if (!seen) {
    unwatched_reason_ = Reason{"a parallel region had more threads than can be profiled"};
    return;
  }
  Pass pass;
  pass.sums = seen->sums;
  pass.source = source->name;
  pass.threads = std::max(seen->widest_team, call.threads.value_or(threads));
  pass.repetition = RepetitionOf(spent, static_cast<double>(calls));
  passes_.push_back(pass);
  algorithm_ = call.algorithm;
  executed_over_useful_ = call.explain.executed_over_useful;
}

void WatchedCalls::Explain(const workload::Workload& workload, workload::RunSettings settings,
                           const ExplainOptions& options, const cpu::Budget& budget,
                           const std::function<void(ExplainPart)>& begin) {
  auto& reason = single_.instructions_reason;
  if (budget.IsSpent()) {
    reason = Reason{fmt::format(
        "the limit of {:g} s for this benchmark was over (dlroof explain --thorough has none)",
        options.limit_seconds.value())};
    return;
  }
  begin(ExplainPart::kSingleThreaded);
  settings.threads = 1;
  const auto call = workload.prepare(settings);
  if (!passes_.empty()) AddSingleThreaded(call, budget);
  if (!IsComparable())
    reason = Reason{
        fmt::format("on one thread the library uses another algorithm ({})", call.algorithm)};
  if (!IsComparable() || budget.IsSpent() || !call.explain.folded) return;
  begin(ExplainPart::kNearAndFar);
  if (!passes_.empty())
    std::tie(single_.near_seconds, single_.far_seconds) = NearAndFarSeconds(call, budget);
}

void WatchedCalls::AddSingleThreaded(const workload::PreparedCall& call,
                                     const cpu::Budget& budget) {
  single_thread_algorithm_ = call.algorithm;
  single_.single_thread_seconds = SecondsOf(call, budget.Part(kCallSeconds));
  CountInstructions(call);
  if (budget.IsSpent()) return;
  if (call.explain.parts) single_.parts = call.explain.parts();
  if (!call.explain.smallest || budget.IsSpent()) return;
  const auto smallest = call.explain.smallest();
  if (smallest.algorithm != call.algorithm) return;
  single_.smallest_seconds = SecondsOf(smallest, budget.Part(kSmallestCallSeconds));
  if (single_.instructions) single_.instructions->smallest = perf::CountInstructions(smallest.run);
}

void WatchedCalls::CountInstructions(const workload::PreparedCall& call) {
  const auto counted = perf::CountInstructions(call.run);
  if (counted)
    single_.instructions = InstructionCount{.all = *counted,
                                            .per_second = cpu::MeasureInstructionRate(),
                                            .how = "hardware counter, user space"};
  else
    single_.instructions_reason = Reason{"there is no hardware counter for them"};
}

std::optional<ParallelTime> WatchedCalls::Mean() const {
  const auto each = VectorOf<record::Repetition>(passes_, &Pass::repetition);
  ParallelTime time;
  if (IsComparable())
    time = single_;
  else
    time.instructions_reason = single_.instructions_reason;
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
  if (time.threads == 1) time.single_thread_seconds.reset();
  if (time.instructions) time.instructions_reason.reset();
  return time;
}

}  // namespace dlroof::runner
